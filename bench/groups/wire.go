// The transport of our messages: a function call, so that only the hosts' work is measured.

package groups

import (
	"errors"
	"sync/atomic"

	"github.com/hustings/hustings/rpc"
)

// wire connects the hosts of one process, and counts what they send.
type wire struct {
	ends map[string]*end
	seen *Seen
	over chan struct{} // closed at the end, when dead hosts may go on
}

func newWire(nodes []string, seen *Seen) *wire {
	w := &wire{ends: make(map[string]*end, len(nodes)), seen: seen, over: make(chan struct{})}
	for _, node := range nodes {
		w.ends[node] = &end{wire: w}
	}
	return w
}

// close ends the network: nothing is delivered any more, and nobody waits.
func (w *wire) close() {
	for _, e := range w.ends {
		e.silent.Store(true)
	}
	close(w.over)
}

// end is the transport of one host.
type end struct {
	wire    *wire
	handler atomic.Pointer[rpc.Handler]
	silent  atomic.Bool // the host is dead: nothing reaches it, and it waits in its next send
}

// Serve delivers messages until stop is called.
func (e *end) Serve(h rpc.Handler) (stop func(), err error) {
	if !e.handler.CompareAndSwap(nil, &h) {
		return nil, errors.New("groups: Serve was called before")
	}
	return func() { e.handler.Store(nil) }, nil
}

// SendBeat passes a beat to the other host.
func (e *end) SendBeat(to string, b *rpc.Beat) {
	if e.dies() {
		return
	}
	e.wire.seen.Messages.Add(1)
	e.wire.seen.Beats.Add(1)
	if h := e.wire.reach(to); h != nil {
		h.(rpc.BeatHandler).ReceiveBeat(b.Clone())
	}
}

// Send passes a batch to the other host, which copies it.
func (e *end) Send(to string, batch []rpc.Message) {
	if e.dies() {
		return
	}
	e.wire.seen.Messages.Add(uint64(len(batch)))
	if h := e.wire.reach(to); h != nil {
		h.Receive(batch)
	}
}

// dies reports whether the host is dead, and then holds up its loop until the end, so that it costs
// nothing.
func (e *end) dies() bool {
	if e.silent.Load() {
		<-e.wire.over
		return true
	}
	return false
}

// reach returns the handler of a host; nil if it is dead, or has stopped.
func (w *wire) reach(to string) rpc.Handler {
	other := w.ends[to]
	if h := other.handler.Load(); h != nil && !other.silent.Load() {
		return *h
	}
	return nil
}
