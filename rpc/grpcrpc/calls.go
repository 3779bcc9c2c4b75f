// A bound on the memory that the calls of an incoming connection hold.
//
// gRPC keeps the bytes of a request until the request is complete, and keeps an answer
// until it can be sent. A caller can leave a request incomplete forever, and can leave
// answers unread. It can complete other calls over the same connection meanwhile, so a
// call that is answered does not show that nothing else waits. Only the frames of HTTP/2
// show which bytes belong to which call. So this code reads the heads of the frames,
// between TLS and gRPC. It counts the bytes of a request until the request is complete,
// and the call itself until the end of its answer is sent.
//
// The request of an exchange is never complete. The meter counts its packets instead. It
// cannot tell them from the bytes of another call, so a connection that carries an
// exchange may carry no other call.

package grpcrpc

import (
	"errors"
	"net"
	"sync"
)

const (
	// maxHeld bounds the bytes that all calls of a connection hold together: callCost for
	// each of the most calls at a time, and 64 KiB of requests.
	maxHeld = maxStreams*callCost + 64<<10
	// callCost is counted for a call in addition to its request: for its head and its answer.
	callCost = 4 << 10
	// maxUnsent bounds other work for gRPC, like resets and pings, that arrives before
	// gRPC sends something. It is twice maxHeld, because an honest client may give up many
	// calls at once, and then sends a reset for each.
	maxUnsent = 2 * maxHeld
)

var errBeside = errors.New("a connection carries one exchange, and no call beside it")

// calls is an incoming connection that counts the bytes that its calls hold.
type calls struct {
	net.Conn
	refuse func(Refusal, error)

	mu       sync.Mutex
	in, out  frames
	open     map[uint32]*call
	held     int  // by the open calls
	unsent   int  // by other work for gRPC since the last write
	exchange bool // one of the calls is an exchange
}

// call is an open call.
type call struct {
	holds    int
	complete bool // the whole request has arrived
}

func newCalls(c net.Conn, refuse func(Refusal, error)) *calls {
	return &calls{Conn: c, refuse: refuse, in: frames{skip: prefaceLen}, open: make(map[uint32]*call)}
}

// Read reads, and refuses the connection if its calls hold too much.
func (c *calls) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	bad := c.in.each(b[:n], c.onFrame)
	c.mu.Unlock()
	switch {
	case bad == nil:
		return n, err
	case errors.Is(bad, errBeside):
		c.refuse(RefusedPeer, bad)
	default:
		c.refuse(RefusedFlood, bad)
	}
	return 0, bad
}

// onFrame counts a frame whose head has arrived.
func (c *calls) onFrame(f frame) error {
	of := c.open[f.stream]
	switch f.kind {
	case headersFrame:
		if of != nil {
			break
		}
		if c.exchange {
			return errBeside
		}
		of = &call{holds: callCost}
		c.open[f.stream] = of
		c.held += callCost
	case resetFrame:
		if of != nil {
			c.over(f.stream)
		}
		c.unsent += callCost // gRPC keeps the call until it next sends something
		return c.bounded()
	case dataFrame, continuationFrame:
	default:
		of = nil
	}
	if of == nil {
		c.unsent += frameHead + f.length
		return c.bounded()
	}
	if c.exchange {
		return nil // the meter counts it
	}
	if of.complete {
		return errFlood
	}
	of.complete = f.ends()
	of.holds += frameHead + f.length
	c.held += frameHead + f.length
	if of.complete {
		c.free(of, callCost)
	}
	return c.bounded()
}

// bounded is an error if the calls hold more than they may.
func (c *calls) bounded() error {
	if c.held > maxHeld || c.unsent > maxUnsent {
		return errFlood
	}
	return nil
}

// free lowers what a call holds.
func (c *calls) free(of *call, holds int) {
	c.held -= of.holds - holds
	of.holds = holds
}

// over removes a call.
func (c *calls) over(stream uint32) {
	c.free(c.open[stream], 0)
	delete(c.open, stream)
}

// reserve reserves the connection for an exchange. It is an error if there is another call.
func (c *calls) reserve() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exchange || len(c.open) > 1 {
		return errBeside
	}
	c.exchange = true
	return nil
}

// Write sends, and removes the calls whose answers end in b.
func (c *calls) Write(b []byte) (int, error) {
	c.mu.Lock()
	_ = c.out.each(b, func(f frame) error {
		if of := c.open[f.stream]; of != nil && f.ends() && (of.complete || f.kind == resetFrame) {
			c.over(f.stream)
		}
		return nil
	})
	c.mu.Unlock()
	n, err := c.Conn.Write(b)
	c.mu.Lock()
	c.unsent = 0
	c.mu.Unlock()
	return n, err
}
