package elector

import "time"

// SetClock replaces the clock of an elector that was not started yet.
func SetClock(e *Elector, clock func() time.Time) {
	h := e.Host()
	h.clock, h.epoch = clock, clock()
}

// Waiting counts the requests in the queue of a host's loop, and the input that waits until a step
// of the group has ended. The second may only be read while the loop is idle.
func Waiting(e *Elector) (requests, queued int) {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	queued, _ = e.group.Queued()
	return h.intake.Waiting(), queued
}

// Watchers is how many watch all groups of the host.
func (h *Host) Watchers() int { return len(h.watchers.list()) }
