// Package faultproxy is a small TCP proxy whose connections a test can block in one or both
// directions, reset, or lead to another target.
package faultproxy

import (
	"io"
	"net"
	"sync"
)

// Proxy forwards connections to its target.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	moved   *sync.Cond
	target  string
	held    Direction // blocked directions
	severed bool
	open    map[net.Conn]bool // both ends of the open connections
}

// Direction is a set of directions.
type Direction uint8

const (
	// Calls go from the caller to the target.
	Calls Direction = 1 << iota
	// Answers go back.
	Answers
)

// New makes a proxy for the address of a listener.
func New(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return On(listener, target), nil
}

// On makes a proxy that listens there.
func On(listener net.Listener, target string) *Proxy {
	p := &Proxy{listener: listener, target: target, open: make(map[net.Conn]bool)}
	p.moved = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	return p
}

// Address is the proxy's own address.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// SetTarget leads new connections to another target.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Hold blocks both directions.
func (p *Proxy) Hold() { p.SetHeld(Calls|Answers, true) }

// Resume unblocks both directions.
func (p *Proxy) Resume() { p.SetHeld(Calls|Answers, false) }

// SetHeld blocks or unblocks directions. While a direction is blocked, its bytes wait, and so
// does the end of a connection. New connections are accepted.
func (p *Proxy) SetHeld(d Direction, held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held &^= d
	if held {
		p.held |= d
	}
	p.moved.Broadcast()
}

// Reset resets the open connections. Their blocked bytes are lost.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset()
}

// Sever resets connections and refuses new ones, as the operating system does when a process
// is killed.
func (p *Proxy) Sever() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.severed {
		return nil
	}
	p.severed = true
	p.reset()
	return p.listener.Close()
}

// Close severs the proxy, and returns when all its goroutines have ended.
func (p *Proxy) Close() error {
	err := p.Sever()
	p.running.Wait()
	return err
}

// reset resets the open connections. The lock is held.
func (p *Proxy) reset() {
	for c := range p.open {
		abort(c) // all before the first is closed, because carry then closes the other end
	}
	for c := range p.open {
		_ = c.Close() // the connection is given up
	}
	clear(p.open)
	p.moved.Broadcast()
}

// abort makes the next Close reset the connection.
func abort(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

func (p *Proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.join(in) })
	}
}

// join connects a caller with the target. If the target refuses, the caller's connection is
// reset.
func (p *Proxy) join(in net.Conn) {
	defer hangUp(in)
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	out, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer hangUp(out)
	if !p.remember(in, out) {
		return
	}
	defer p.forget(in, out)
	var both sync.WaitGroup
	both.Go(func() { p.carry(in, out, Calls) })
	both.Go(func() { p.carry(out, in, Answers) })
	both.Wait()
}

func hangUp(c net.Conn) {
	abort(c)
	_ = c.Close() // it may be closed already
}

func (p *Proxy) remember(in, out net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.severed {
		p.open[in], p.open[out] = true, true
	}
	return !p.severed
}

func (p *Proxy) forget(in, out net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, in)
	delete(p.open, out)
}

// carry copies until one end is closed, and then closes both.
func (p *Proxy) carry(from, to net.Conn, d Direction) {
	_, _ = io.Copy(gate{p, d, to}, struct{ io.Reader }{from}) // without from's WriteTo, which could bypass the gate
	p.pass(d, to)
	_, _ = from.Close(), to.Close()
}

// gate is a connection whose writes wait while its direction is blocked.
type gate struct {
	proxy     *Proxy
	direction Direction
	net.Conn
}

func (g gate) Write(b []byte) (int, error) {
	g.proxy.pass(g.direction, g.Conn)
	return g.Conn.Write(b)
}

// pass waits while a direction is blocked and the connection is open.
func (p *Proxy) pass(d Direction, to net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.held&d != 0 && p.open[to] {
		p.moved.Wait()
	}
}
