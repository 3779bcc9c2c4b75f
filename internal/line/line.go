// Package line is a small TCP proxy between two parties, which can fall silent, hold
// back what one of them says, or break.
package line

import (
	"io"
	"net"
	"sync"
)

// Line carries connections one way; what is said over them goes both ways.
type Line struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	moved  *sync.Cond
	held   direction // what does not get through
	broken bool
	open   map[net.Conn]bool // the open ones: whom Sever resets
}

// direction is what the caller says, what the target does, or both.
type direction uint8

const (
	calls direction = 1 << iota
	answers
)

// New lays a line to where somebody listens.
func New(target string) (*Line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Line{listener: listener, target: target, open: make(map[net.Conn]bool)}
	l.moved = sync.NewCond(&l.mu)
	l.running.Go(l.accept)
	return l, nil
}

// Address is where to call.
func (l *Line) Address() string { return l.listener.Addr().String() }

// Hold has the line fall silent: connections stay, but nothing gets through.
func (l *Line) Hold() { l.hold(calls | answers) }

// HoldAnswers has what the target says wait. What it is told still gets through.
func (l *Line) HoldAnswers() { l.hold(answers) }

// Resume lets everything through, what had to wait first.
func (l *Line) Resume() { l.hold(0) }

func (l *Line) hold(d direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = d
	l.moved.Broadcast()
}

// Sever resets connections and refuses new ones, as the system does for a process
// that was killed.
func (l *Line) Sever() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return nil
	}
	l.broken = true
	l.moved.Broadcast()
	for c := range l.open {
		abort(c) // all of them before the first is closed, for who sees that closes the next
	}
	for c := range l.open {
		reset(c)
	}
	return l.listener.Close()
}

// Close severs the line, and returns when nothing of it is left.
func (l *Line) Close() error {
	err := l.Sever()
	l.running.Wait()
	return err
}

func reset(c net.Conn) {
	abort(c)
	_ = c.Close() // it is over, one way or the other
}

// abort has whoever closes the connection reset it.
func abort(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

func (l *Line) accept() {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.running.Go(func() { l.join(in) })
	}
}

// join connects a caller with the target.
func (l *Line) join(in net.Conn) {
	out, err := net.Dial("tcp", l.target)
	if err != nil {
		reset(in)
		return
	}
	defer l.forget(in, out)
	if !l.remember(in, out) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(in, out, calls) })
	both.Go(func() { l.carry(out, in, answers) })
	both.Wait()
}

func (l *Line) remember(in, out net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[in], l.open[out] = true, true
	return !l.broken
}

func (l *Line) forget(in, out net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, in)
	delete(l.open, out)
	reset(in)
	reset(out)
}

// carry copies until either end is gone, and then breaks the other.
func (l *Line) carry(from, to net.Conn, what direction) {
	defer func() { _, _ = from.Close(), to.Close() }()
	_, _ = io.Copy(gate{l, what, to}, struct{ io.Reader }{from}) // by way of the gate
}

// gate is the far end of a line, which nothing passes that is held.
type gate struct {
	line *Line
	what direction
	net.Conn
}

func (g gate) Write(b []byte) (int, error) {
	g.line.mu.Lock()
	for g.line.held&g.what != 0 && !g.line.broken {
		g.line.moved.Wait()
	}
	g.line.mu.Unlock()
	return g.Conn.Write(b)
}
