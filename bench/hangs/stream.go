// Streams over lines, for a library that brings its own protocol.

package hangs

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// streams are those that a node opens and accepts. They are a raft.StreamLayer.
type streams struct {
	net      *Network
	node     *Node
	all      []*streams // of all nodes
	accepted chan net.Conn
	ended    chan struct{}
	once     sync.Once

	mu   sync.Mutex
	open []net.Conn // all ends that belong to this node
}

func newStreams(n *Network, at *Node, all []*streams) *streams {
	return &streams{net: n, node: at, all: all, accepted: make(chan net.Conn), ended: make(chan struct{})}
}

// Dial opens a stream to another node, at once.
func (s *streams) Dial(address raft.ServerAddress, _ time.Duration) (net.Conn, error) {
	i, err := strconv.Atoi(string(address))
	if err != nil || i >= len(s.all) {
		return nil, fmt.Errorf("hangs: there is no node %q", address)
	}
	other := s.all[i]
	near, here := net.Pipe()
	there, far := net.Pipe()
	go pump(here, there, s.net.Line(s.node, other.node))
	go pump(there, here, s.net.Line(other.node, s.node))
	s.keep(near, here)
	other.keep(there, far)
	select {
	case other.accepted <- far:
		return near, nil
	case <-other.ended:
		return nil, net.ErrClosed
	}
}

// pump sends what comes out of one pipe into another one.
func pump(from, into net.Conn, over *Line) {
	b := make([]byte, 1<<12)
	for {
		n, err := from.Read(b)
		if err != nil {
			over.Send(func() { _ = into.Close() }) // always nil
			return
		}
		some := slices.Clone(b[:n])
		over.Send(func() { _, _ = into.Write(some) }) // fails if the reader has closed, which pump sees, too
	}
}

// keep notes ends that belong to this node, and closes them if it has ended.
func (s *streams) keep(ends ...net.Conn) {
	s.mu.Lock()
	s.open = append(s.open, ends...)
	s.mu.Unlock()
	select {
	case <-s.ended:
		s.cut()
	default:
	}
}

// Accept waits for a stream that another node opens.
func (s *streams) Accept() (net.Conn, error) {
	select {
	case c := <-s.accepted:
		return c, nil
	case <-s.ended:
		return nil, net.ErrClosed
	}
}

// Addr is the node's address.
func (s *streams) Addr() net.Addr { return address(s.node.Index) }

// Close ends Accept.
func (s *streams) Close() error {
	s.once.Do(func() { close(s.ended) })
	return nil
}

// cut closes all streams of the node, too.
func (s *streams) cut() {
	_ = s.Close() // always nil
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		_ = c.Close() // always nil
	}
}

// address is a node's address.
type address int

// Network names the network.
func (address) Network() string { return "lines" }

// String is the node's number.
func (a address) String() string { return strconv.Itoa(int(a)) }
