package elector

import "time"

// SetClock gives an elector that was not started yet another clock.
func SetClock(e *Elector, clock func() time.Time) {
	h := e.Host()
	h.clock, h.epoch = clock, clock()
}

// Waiting counts what waits for a host's loop, and what for the step of a group that is
// under way. The second is only to be read while the loop is idle.
func Waiting(e *Elector) (requests, queued int) {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	queued, _ = e.group.Queued()
	return h.intake.Waiting(), queued
}
