// Incoming connections, in four classes: strangers, callers that have made a call that was
// allowed, peers, and dismissed ones that were peers. Each class is bounded, because each
// connection may leave data unread, which takes memory.

package grpcrpc

import (
	"container/list"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxStrangers bounds the connections without a call that was allowed. If there are
	// more, the oldest is closed. So a crowd of strangers can keep no member out, because
	// a member makes its call in a moment.
	maxStrangers = 128
	// maxCallers bounds the callers: operators, and without TLS anyone. maxHeld bounds
	// the memory of each one's calls.
	maxCallers = 32
	// maxDismissed bounds the former peers that still have to read why their exchange has
	// ended. Each may leave a packet unread.
	maxDismissed = 8
)

// guard is the listener of a transport.
type guard struct {
	net.Listener
	refuse func(Refusal, ...any)
	late   time.Duration // the longest time as a stranger, or as a dismissed one

	mu        sync.Mutex
	shut      bool
	conns     map[*inbound]bool
	strangers list.List // of *inbound, the oldest first, as in the other lists
	callers   list.List
	dismissed list.List
}

func newGuard(l net.Listener, late time.Duration, refuse func(Refusal, ...any)) *guard {
	return &guard{Listener: l, refuse: refuse, late: late, conns: make(map[*inbound]bool)}
}

// inbound is an incoming connection.
type inbound struct {
	*meter
	guard *guard
	calls *calls // nil before the handshake

	spoke   atomic.Bool // bytes have arrived
	known   atomic.Bool // the handshake has succeeded
	called  atomic.Bool // it has made a call
	refused atomic.Bool // it has been counted as refused

	// Guarded by the guard's lock.
	among *list.List    // strangers, callers or dismissed; nil: a peer, or closed
	place *list.Element // in that list
	timer *time.Timer   // closes a stranger or a dismissed one
}

// Accept accepts a connection, and closes the oldest stranger if there are too many.
func (g *guard) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	came := &inbound{guard: g}
	came.meter = newMeter(c, func() { came.refuse(RefusedFlood) })
	g.mu.Lock()
	if g.shut {
		g.mu.Unlock()
		_ = c.Close()
		return nil, net.ErrClosed
	}
	g.conns[came] = true
	g.mu.Unlock()
	g.move(came, &g.strangers)
	return came, nil
}

// welcome makes a stranger a caller.
func (g *guard) welcome(c *inbound) {
	if g.move(c, &g.callers) {
		c.pause()
	}
}

// introduce makes a stranger a peer. There is only one connection of each peer.
func (g *guard) introduce(c *inbound) { g.move(c, nil) }

// dismiss lets a former peer stay until it has read why its exchange has ended.
func (g *guard) dismiss(c *inbound) {
	if g.move(c, &g.dismissed) {
		c.forbid()
	}
}

// move moves a connection to a class, if it is not in it and is not closed. If there are too many in
// that class, the oldest is closed.
func (g *guard) move(c *inbound, to *list.List) bool {
	g.mu.Lock()
	if !g.conns[c] || c.among == to {
		g.mu.Unlock()
		return false
	}
	c.leave()
	var oldest *inbound
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
		_ = oldest.Conn.Close() // the goroutine that reads from it notices
	}
	return true
}

// closeLate closes the connection if it is still in the same class when its time is over.
func (c *inbound) closeLate() { c.timer = time.AfterFunc(c.guard.late, func() { _ = c.Close() }) }

// first removes the oldest connection if there are too many.
func first(of *list.List, most int) *inbound {
	if of.Len() <= most {
		return nil
	}
	oldest := of.Front().Value.(*inbound)
	oldest.leave()
	return oldest
}

// leave removes a connection from its class, and says whether it was a stranger.
func (c *inbound) leave() (stranger bool) {
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

func (c *inbound) Read(b []byte) (int, error) {
	n, err := c.meter.Read(b)
	if n > 0 {
		c.spoke.Store(true)
	}
	return n, err
}

// refuse counts and logs that the connection is refused. Only the first reason counts, because
// closing a connection, or ending one of its calls, may cause others.
func (c *inbound) refuse(why Refusal, attributes ...any) {
	if !c.refused.Swap(true) {
		c.guard.refuse(why, append([]any{"remote", c.RemoteAddr()}, attributes...)...)
	}
}

// Close closes the connection. It counts a connection that has sent something without making a
// call, unless the handshake failed. A connection that sent nothing may have been a peer's probe.
func (c *inbound) Close() error {
	g := c.guard
	g.mu.Lock()
	delete(g.conns, c)
	stranger := c.leave()
	g.mu.Unlock()
	if stranger && c.spoke.Load() && c.known.Load() && !c.called.Load() {
		c.refuse(RefusedSilence)
	}
	return c.meter.Close()
}

// closeAll closes all incoming connections, and those that still arrive. It waits for none,
// because a client that sends or reads nothing must not delay Close.
func (g *guard) closeAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for c := range g.conns {
		_ = c.Conn.Close()
	}
}
