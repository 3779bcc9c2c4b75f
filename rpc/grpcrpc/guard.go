// Who is connected: strangers, those who have made a call that was allowed, peers, and
// those who were peers. There are bounds to how many there are of each, because what
// each of them may leave unread takes memory.

package grpcrpc

import (
	"container/list"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxStrangers bounds how many connections there may be that have made no
	// call that was allowed. When there are more the oldest is closed, so that a
	// crowd can keep no member out: a member is past this in a moment.
	maxStrangers = 128
	// maxCallers bounds how many there may be that have made one: of operators,
	// and without TLS of anyone. maxHeld bounds what the calls of each may hold.
	maxCallers = 32
	// maxDismissed bounds how many there may be that were peers and are being told
	// why they are no more. Each may leave a packet unread that was sent to it.
	maxDismissed = 8
)

// guard is the listener of a transport.
type guard struct {
	net.Listener
	refuse func(Refusal, ...any)
	late   time.Duration // how long one may be a stranger

	mu        sync.Mutex
	shut      bool
	guests    map[*guest]bool
	strangers list.List // of *guest, the oldest first; as are the others
	callers   list.List
	dismissed list.List
}

func newGuard(l net.Listener, late time.Duration, refuse func(Refusal, ...any)) *guard {
	return &guard{Listener: l, refuse: refuse, late: late, guests: make(map[*guest]bool)}
}

// guest is a connection that came in.
type guest struct {
	*meter
	guard *guard
	calls *calls // nil before its handshake

	spoke   atomic.Bool
	known   atomic.Bool // who it is: it has a certificate, or none is asked for
	called  atomic.Bool // it has made a call
	refused atomic.Bool // it has been counted as refused

	// Guarded by the guard's lock.
	among *list.List    // strangers, callers or dismissed; nil: it is a peer, or has ended
	place *list.Element // there
	timer *time.Timer   // closes a stranger, or one that was dismissed
}

// Accept lets someone in, and the oldest stranger out if there are too many.
func (g *guard) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	came := &guest{guard: g}
	came.meter = newMeter(c, func() { came.refuse(RefusedFlood) })
	g.mu.Lock()
	if g.shut {
		g.mu.Unlock()
		_ = c.Close()
		return nil, net.ErrClosed
	}
	g.guests[came] = true
	g.mu.Unlock()
	g.move(came, &g.strangers)
	return came, nil
}

// welcome makes a stranger a caller.
func (g *guard) welcome(c *guest) {
	if g.move(c, &g.callers) {
		c.pause()
	}
}

// introduce makes a stranger a peer. Of those there is only one connection each.
func (g *guard) introduce(c *guest) { g.move(c, nil) }

// dismiss lets a peer stay for as long as it takes to read why it is one no more.
func (g *guard) dismiss(c *guest) {
	if g.move(c, &g.dismissed) {
		c.forbid()
	}
}

// move puts a guest among others, if it is not among them and has not ended. The
// oldest of them has to go if there are too many.
func (g *guard) move(c *guest, to *list.List) bool {
	g.mu.Lock()
	if !g.guests[c] || c.among == to && c.place != nil {
		g.mu.Unlock()
		return false
	}
	c.leave()
	var oldest *guest
	if to != nil {
		c.among, c.place = to, to.PushBack(c)
	}
	switch to {
	case &g.strangers:
		c.closeLate()
		oldest = first(to, maxStrangers)
	case &g.callers:
		oldest = first(to, maxCallers)
	case &g.dismissed:
		c.closeLate()
		oldest = first(to, maxDismissed)
	}
	g.mu.Unlock()
	if oldest != nil {
		oldest.refuse(RefusedCrowd)
		_ = oldest.Conn.Close() // whoever reads from it notices
	}
	return true
}

// closeLate closes the connection if it is still among the same when its time is over.
func (c *guest) closeLate() { c.timer = time.AfterFunc(c.guard.late, func() { _ = c.Close() }) }

// first takes out the oldest guest if there are too many.
func first(of *list.List, most int) *guest {
	if of.Len() <= most {
		return nil
	}
	oldest := of.Front().Value.(*guest)
	oldest.leave()
	return oldest
}

// leave takes a guest out from among others, and says whether it was a stranger.
func (c *guest) leave() (stranger bool) {
	if c.place == nil {
		return false
	}
	stranger = c.among == &c.guard.strangers
	c.among.Remove(c.place)
	c.among, c.place = nil, nil
	if c.timer != nil {
		c.timer.Stop()
	}
	return stranger
}

func (c *guest) Read(b []byte) (int, error) {
	n, err := c.meter.Read(b)
	if n > 0 {
		c.spoke.Store(true)
	}
	return n, err
}

// refuse counts that the connection is refused, and tells of it. Only the first reason
// counts: to close a connection, or to end one of its calls, may bring about others.
func (c *guest) refuse(why Refusal, attributes ...any) {
	if !c.refused.Swap(true) {
		c.guard.refuse(why, append([]any{"remote", c.RemoteAddr()}, attributes...)...)
	}
}

// Close ends the connection. One that said something, but made no call, is counted,
// unless its handshake failed. One that said nothing may have been a peer that looked
// whether this node is there.
func (c *guest) Close() error {
	g := c.guard
	g.mu.Lock()
	delete(g.guests, c)
	stranger := c.leave()
	g.mu.Unlock()
	if stranger && c.spoke.Load() && c.known.Load() && !c.called.Load() {
		c.refuse(RefusedSilence)
	}
	return c.meter.Close()
}

// closeAll closes all that came in, and what still comes. Nobody is waited for: one
// who says nothing, or reads nothing, must not hold up whoever closes.
func (g *guard) closeAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for c := range g.guests {
		_ = c.Conn.Close()
	}
}
