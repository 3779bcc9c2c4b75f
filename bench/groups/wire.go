// The transport of our messages: a function call, so that only the hosts' work is measured.

package groups

import (
	"errors"
	"sync/atomic"

	"github.com/hustings/hustings/rpc"
)

// wire connects the hosts of one process.
type wire struct{ ends map[string]*end }

func newWire(nodes []string) *wire {
	w := &wire{make(map[string]*end, len(nodes))}
	for _, node := range nodes {
		w.ends[node] = &end{wire: w}
	}
	return w
}

// end is the transport of one host.
type end struct {
	wire    *wire
	handler atomic.Pointer[rpc.Handler]
	silent  atomic.Bool // drops all messages in and out
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
	other := e.wire.ends[to]
	if e.silent.Load() || other.silent.Load() {
		return
	}
	if h := other.handler.Load(); h != nil {
		(*h).(rpc.BeatHandler).ReceiveBeat(b.Clone())
	}
}

// Send passes a batch to the other host, which copies it.
func (e *end) Send(to string, batch []rpc.Message) {
	other := e.wire.ends[to]
	if e.silent.Load() || other.silent.Load() {
		return
	}
	if h := other.handler.Load(); h != nil {
		(*h).Receive(batch)
	}
}
