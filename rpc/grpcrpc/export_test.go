// What tests from outside have to reach inside for.

package grpcrpc

import "time"

// NewUnhurried is a transport that gives everyone an hour to say who they are.
func NewUnhurried(c Config) (*Transport, error) { return newTransport(c, time.Hour, time.Now) }

// NewHurried is a transport that gives everyone so long to say who they are.
func NewHurried(c Config, within time.Duration) (*Transport, error) {
	return newTransport(c, within, time.Now)
}

// NewWithClock is a transport that holds certificates against this clock.
func NewWithClock(c Config, now func() time.Time) (*Transport, error) {
	return newTransport(c, handshakeTime, now)
}

// Guests is how many connections have come in and not ended.
func (t *Transport) Guests() int {
	t.guard.mu.Lock()
	defer t.guard.mu.Unlock()
	return len(t.guard.conns)
}

// Kept is how many connections are verified again and again.
func (t *Transport) Kept() int {
	t.tls.mu.Lock()
	defer t.tls.mu.Unlock()
	return len(t.tls.live)
}

// Watch does what a transport does in the background, when these ticks come.
func (t *Transport) Watch(ticks <-chan time.Time) { t.tls.watch(t.ctx, ticks) }
