package elector

import "time"

// SetClock gives an elector that was not started yet another clock.
func SetClock(e *Elector, clock func() time.Time) {
	h := e.group.host
	h.clock, h.epoch = clock, clock()
}

// Correspondents counts the nodes that a stopped host keeps a batch for.
func Correspondents(h *Host) int { return len(h.outbox) }
