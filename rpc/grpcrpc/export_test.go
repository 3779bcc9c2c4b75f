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

// Holdings count what a transport holds for its peers and callers.
type Holdings struct {
	Links, Connected, Suspects, Greeted int
	Queued                              int // messages and beats that wait
	Inbound, Listed, Timers             int // incoming connections; of them those in a bounded class, and with a timer
	Calls, Held                         int // open calls but for exchanges, and what they hold
	Kept                                int // connections that are verified again and again
}

// Holdings are the transport's.
func (t *Transport) Holdings() (h Holdings) {
	t.mu.Lock()
	h.Links = len(t.links)
	for _, l := range t.links {
		l.count(&h)
	}
	t.mu.Unlock()
	if t.tls != nil {
		h.Kept = t.Kept()
	}
	g := t.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	h.Inbound, h.Listed = len(g.conns), g.strangers.Len()+g.callers.Len()+g.dismissed.Len()
	for c := range g.conns {
		if c.place != nil && c.timer != nil {
			h.Timers++
		}
		if !c.known.Load() || c.calls == nil { // in this order: its calls are set before it is known
			continue
		}
		c.calls.mu.Lock()
		if !c.calls.exchange {
			h.Calls += len(c.calls.open)
			h.Held += c.calls.held
		}
		c.calls.mu.Unlock()
	}
	return h
}

func (l *link) count(h *Holdings) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for there, n := range map[*int]bool{&h.Connected: l.current != nil, &h.Suspects: l.suspect != nil, &h.Greeted: l.greeted != nil} {
		if n {
			*there++
		}
	}
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	h.Queued += len(l.queue.urgent) + len(l.queue.heartbeats) + len(l.queue.places)
	if l.queue.beat != nil {
		h.Queued++
	}
}
