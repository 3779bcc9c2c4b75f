// What tests from outside have to reach inside for.

package grpcrpc

import "time"

// NewUnhurried is a transport that gives everyone an hour to say who they are.
func NewUnhurried(c Config) (*Transport, error) { return newTransport(c, time.Hour) }

// Guests is how many connections have come in and not ended.
func (t *Transport) Guests() int {
	t.guard.mu.Lock()
	defer t.guard.mu.Unlock()
	return len(t.guard.guests)
}
