// Package faultproxy is a small TCP proxy whose connections a test can block in one or both
// directions, or break.
package faultproxy

import (
	"io"
	"net"
	"sync"
)

// Proxy forwards connections to its target.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	moved  *sync.Cond
	held   direction // blocked directions
	broken bool
	open   map[net.Conn]bool // the open connections, which Sever resets
}

// direction is from the caller to the target, back, or both.
type direction uint8

const (
	calls direction = 1 << iota
	answers
)

// New makes a proxy for the address of a listener.
func New(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Proxy{listener: listener, target: target, open: make(map[net.Conn]bool)}
	l.moved = sync.NewCond(&l.mu)
	l.running.Go(l.accept)
	return l, nil
}

// Address is the proxy's own address.
func (l *Proxy) Address() string { return l.listener.Addr().String() }

// Hold blocks both directions. Connections stay open.
func (l *Proxy) Hold() { l.hold(calls | answers) }

// HoldAnswers blocks the direction from the target to the caller.
func (l *Proxy) HoldAnswers() { l.hold(answers) }

// Resume unblocks both directions. Blocked bytes are forwarded first.
func (l *Proxy) Resume() { l.hold(0) }

func (l *Proxy) hold(d direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = d
	l.moved.Broadcast()
}

// Sever resets connections and refuses new ones, as the operating system does when a process
// is killed.
func (l *Proxy) Sever() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return nil
	}
	l.broken = true
	l.moved.Broadcast()
	for c := range l.open {
		abort(c) // all before the first is closed, because carry then closes the other end
	}
	for c := range l.open {
		reset(c)
	}
	return l.listener.Close()
}

// Close severs the proxy, and returns when all its goroutines have ended.
func (l *Proxy) Close() error {
	err := l.Sever()
	l.running.Wait()
	return err
}

func reset(c net.Conn) {
	abort(c)
	_ = c.Close() // the connection is given up
}

// abort makes the next Close reset the connection.
func abort(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

func (l *Proxy) accept() {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.running.Go(func() { l.join(in) })
	}
}

// join connects a caller with the target.
func (l *Proxy) join(in net.Conn) {
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

func (l *Proxy) remember(in, out net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[in], l.open[out] = true, true
	return !l.broken
}

func (l *Proxy) forget(in, out net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, in)
	delete(l.open, out)
	reset(in)
	reset(out)
}

// carry copies until one end is closed, and then closes the other.
func (l *Proxy) carry(from, to net.Conn, what direction) {
	defer func() { _, _ = from.Close(), to.Close() }()
	_, _ = io.Copy(gate{l, what, to}, struct{ io.Reader }{from}) // without from's WriteTo, which could bypass the gate
}

// gate is a connection whose writes wait while its direction is blocked.
type gate struct {
	proxy *Proxy
	what  direction
	net.Conn
}

func (g gate) Write(b []byte) (int, error) {
	g.proxy.mu.Lock()
	for g.proxy.held&g.what != 0 && !g.proxy.broken {
		g.proxy.moved.Wait()
	}
	g.proxy.mu.Unlock()
	return g.Conn.Write(b)
}
