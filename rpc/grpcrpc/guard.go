// The crowd at the door: connections that have not yet made a call that was
// allowed.

package grpcrpc

import (
	"container/list"
	"net"
	"sync"
	"sync/atomic"
)

// maxStrangers bounds how many of them there may be. When there are more the
// oldest is closed, so that a crowd can keep no member out: a member is past this
// in a moment.
const maxStrangers = 256

// guard is the listener of a transport.
type guard struct {
	net.Listener
	refuse func(Refusal, ...any)

	mu        sync.Mutex
	strangers list.List // of *guest, the oldest first
	guests    map[string]*guest
}

func newGuard(l net.Listener, refuse func(Refusal, ...any)) *guard {
	return &guard{Listener: l, refuse: refuse, guests: make(map[string]*guest)}
}

// guest is a connection that came in.
type guest struct {
	net.Conn
	guard *guard
	spoke atomic.Bool
	known atomic.Bool   // who it is: it has a certificate, or none is asked for
	place *list.Element // among the strangers; nil once it is none
}

// Accept lets someone in, and the oldest stranger out if there are too many.
func (g *guard) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	came := &guest{Conn: c, guard: g}
	g.mu.Lock()
	came.place = g.strangers.PushBack(came)
	g.guests[c.RemoteAddr().String()] = came
	var oldest *guest
	if g.strangers.Len() > maxStrangers {
		oldest = g.strangers.Remove(g.strangers.Front()).(*guest)
		oldest.place = nil
	}
	g.mu.Unlock()
	if oldest != nil {
		g.refuse(RefusedCrowd, "remote", oldest.RemoteAddr())
		_ = oldest.Conn.Close() // whoever reads from it notices
	}
	return came, nil
}

// admit knows whoever is at this address from now on.
func (g *guard) admit(remote net.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.guests[remote.String()]; c != nil {
		g.forget(c)
	}
}

// forget takes a guest off the list of strangers, and says whether it was on it.
func (g *guard) forget(c *guest) bool {
	if c.place == nil {
		return false
	}
	g.strangers.Remove(c.place)
	c.place = nil
	return true
}

func (c *guest) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.spoke.Store(true)
	}
	return n, err
}

// Close ends the connection. One that said something, but nothing of use, is
// counted, unless it has been as one whose handshake failed. One that said nothing
// may have been a peer that looked whether this node is there.
func (c *guest) Close() error {
	g := c.guard
	g.mu.Lock()
	if g.guests[c.RemoteAddr().String()] == c {
		delete(g.guests, c.RemoteAddr().String())
	}
	stranger := g.forget(c)
	g.mu.Unlock()
	if stranger && c.spoke.Load() && c.known.Load() {
		g.refuse(RefusedSilence, "remote", c.RemoteAddr())
	}
	return c.Conn.Close()
}

// spoke says whether anything has come over a connection of the guard's.
func spoke(c net.Conn) bool {
	g, ok := c.(*guest)
	return ok && g.spoke.Load()
}

// know notes that a connection's handshake is done.
func know(c net.Conn) {
	if g, ok := c.(*guest); ok {
		g.known.Store(true)
	}
}
