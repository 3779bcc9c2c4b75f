// Access to internals for the tests of package grpcrpc_test.

package grpcrpc

import "time"

// NewUnhurried is New with a handshake timeout of an hour.
func NewUnhurried(c Config) (*Transport, error) { return newTransport(c, time.Hour, time.Now) }

// NewHurried is New with another handshake timeout.
func NewHurried(c Config, within time.Duration) (*Transport, error) {
	return newTransport(c, within, time.Now)
}

// NewWithClock is New with another clock for certificates.
func NewWithClock(c Config, now func() time.Time) (*Transport, error) {
	return newTransport(c, handshakeTime, now)
}

// Inbound is the number of open incoming connections.
func (t *Transport) Inbound() int {
	t.guard.mu.Lock()
	defer t.guard.mu.Unlock()
	return len(t.guard.conns)
}

// Kept is the number of connections that are verified again and again.
func (t *Transport) Kept() int {
	t.tls.mu.Lock()
	defer t.tls.mu.Unlock()
	return len(t.tls.live)
}

// Watch verifies connections as a transport does in the background, at these ticks.
func (t *Transport) Watch(ticks <-chan time.Time) { t.tls.watch(t.ctx, ticks) }
