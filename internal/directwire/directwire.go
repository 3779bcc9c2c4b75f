// Package directwire connects the nodes of one process by calls of functions, so that the network costs
// next to nothing when nodes are measured. A message is at its handler when Send returns. Unlike
// rpc.Network it has no goroutine, no queue and no faults.
package directwire

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hustings/hustings/rpc"
)

// Wire connects nodes.
type Wire struct{ ends map[string]*End }

// New connects nodes.
func New(nodes ...string) *Wire {
	w := &Wire{make(map[string]*End, len(nodes))}
	for _, node := range nodes {
		w.ends[node] = &End{wire: w}
	}
	return w
}

// End returns a node's end of the wire.
func (w *Wire) End(node string) *End { return w.ends[node] }

// End is the transport of one node. It is an [rpc.BeatTransport].
type End struct {
	wire   *Wire
	silent atomic.Bool

	delivering sync.RWMutex // held for reading while the handler is called
	handler    rpc.Handler
}

// Silence drops everything from now on that is sent to the node, and everything that it sends.
func (e *End) Silence() { e.silent.Store(true) }

// Silent says whether Silence was called.
func (e *End) Silent() bool { return e.silent.Load() }

// Serve implements [rpc.Transport].
func (e *End) Serve(h rpc.Handler) (stop func(), err error) {
	e.delivering.Lock()
	defer e.delivering.Unlock()
	if h == nil || e.handler != nil {
		return nil, errors.New("directwire: the handler is nil, or the node has one")
	}
	e.handler = h
	return sync.OnceFunc(func() {
		e.delivering.Lock()
		defer e.delivering.Unlock()
		e.handler = nil
	}), nil
}

// Send passes a batch to the other node, which copies it.
func (e *End) Send(to string, batch []rpc.Message) {
	e.deliver(to, func(h rpc.Handler) { h.Receive(batch) })
}

// SendBeat passes a beat to the other node, if its handler takes beats.
func (e *End) SendBeat(to string, b *rpc.Beat) {
	e.deliver(to, func(h rpc.Handler) {
		if takes, ok := h.(rpc.BeatHandler); ok {
			takes.ReceiveBeat(b.Clone())
		}
	})
}

// deliver calls the handler of a node, if there is one and neither of the two nodes is silent.
func (e *End) deliver(to string, pass func(rpc.Handler)) {
	other := e.wire.ends[to]
	if other == nil || e.Silent() || other.Silent() {
		return
	}
	other.delivering.RLock()
	defer other.delivering.RUnlock()
	if other.handler != nil {
		pass(other.handler)
	}
}
