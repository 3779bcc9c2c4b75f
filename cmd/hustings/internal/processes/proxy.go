// A proxy between two nodes that can cut either direction.

package processes

import (
	"errors"
	"net"
	"sync"
)

// Proxy carries connections from one node to another.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex
	moved *sync.Cond
	cut   [2]bool // by direction
	ended bool
	open  map[net.Conn]bool
}

// The directions of a proxy.
const (
	There = 0
	Back  = 1
)

// NewProxy listens on loopback for connections to a target.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, open: make(map[net.Conn]bool)}
	p.moved = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	return p, nil
}

// Address returns the address that the proxy listens on.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Cut holds up everything that goes in a direction, or lets it go on, late.
func (p *Proxy) Cut(direction int, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut[direction] = cut
	p.moved.Broadcast()
}

// Close breaks all connections, and waits for their goroutines.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.ended = true
	for c := range p.open {
		err = errors.Join(err, ignoreClosed(c.Close()))
	}
	p.moved.Broadcast()
	p.mu.Unlock()
	p.running.Wait()
	return err
}

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
	out, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = in.(*net.TCPConn).SetLinger(0)
		_ = in.Close()
		return
	}
	p.mu.Lock()
	p.open[in], p.open[out] = true, true
	ended := p.ended
	p.mu.Unlock()
	if ended {
		_, _ = in.Close(), out.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.carry(in, out, There) })
	both.Go(func() { p.carry(out, in, Back) })
	both.Wait()
	p.mu.Lock()
	delete(p.open, in)
	delete(p.open, out)
	p.mu.Unlock()
}

// carry copies in one direction until either end is gone, and then closes both.
func (p *Proxy) carry(from, to net.Conn, direction int) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !p.pass(direction) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// pass waits while a direction is cut, and reports whether to go on.
func (p *Proxy) pass(direction int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.cut[direction] && !p.ended {
		p.moved.Wait()
	}
	return !p.ended
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
