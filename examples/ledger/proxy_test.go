// Links between processes that can be cut, in one direction or both, without either end being told.

package main

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// link is how one node reaches another: by two ports in a row, like those of a node.
type link struct {
	address string

	mu       sync.Mutex
	changed  *sync.Cond
	cut      bool // from the one to the other
	backward bool // the answers
	open     []net.Conn
	closed   bool
}

// newLink makes a link to a node.
func newLink(t *testing.T, to string) *link {
	t.Helper()
	l := &link{address: freePair(t)}
	l.changed = sync.NewCond(&l.mu)
	for i := range 2 {
		listener, err := net.Listen("tcp", nextPort(t, l.address, i))
		require.NoError(t, err)
		var serving sync.WaitGroup
		serving.Go(func() { l.accept(&serving, listener, nextPort(t, to, i)) })
		t.Cleanup(func() {
			_ = listener.Close()
			l.close()
			serving.Wait()
		})
	}
	return l
}

func (l *link) accept(serving *sync.WaitGroup, listener net.Listener, to string) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", to)
		if err != nil {
			_ = near.Close()
			continue
		}
		if l.keep(near, far) {
			serving.Go(func() { l.carry(near, far, &l.cut) })
			serving.Go(func() { l.carry(far, near, &l.backward) })
		}
	}
}

// keep remembers connections, to close them in the end.
func (l *link) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		for _, c := range conns {
			_ = c.Close()
		}
		return false
	}
	l.open = append(l.open, conns...)
	return true
}

// carry carries what comes, and holds it back while the direction is cut, as a network that loses packets does for TCP.
func (l *link) carry(from, to net.Conn, cut *bool) {
	defer func() { _ = from.Close() }()
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.await(cut)
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// await waits until a direction is not cut.
func (l *link) await(cut *bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for *cut && !l.closed {
		l.changed.Wait()
	}
}

// set cuts the link's directions, or mends them.
func (l *link) set(cut, backward bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.backward = cut, backward
	l.changed.Broadcast()
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
	for _, c := range l.open {
		_ = c.Close()
	}
}
