// A node's end of the wire, which counts what the node sends, and at which the node can die.

package stress

import (
	"sync"
	"sync/atomic"

	"github.com/hustings/hustings/rpc"
)

// end is the transport of one node, over a real one.
//
// A node that dies without a word is imitated by one that is stopped in the middle of its next call of the
// transport, as a process is that gets no more time. It then costs nothing, so all that is measured is what the others do. Its
// connections stay, so the others do not learn of its death from the network.
type end struct {
	rpc.BeatTransport
	messages, beats atomic.Uint64
	dead            atomic.Bool
	over            chan struct{} // closed when the run is over and a dead node may be closed
	closing         sync.Once
}

func newEnd(over rpc.BeatTransport) *end {
	return &end{BeatTransport: over, over: make(chan struct{})}
}

func (e *end) die() { e.dead.Store(true) }

// release lets a dead node go on, unheard, so that it can be closed.
func (e *end) release() { e.closing.Do(func() { close(e.over) }) }

// stopped says that the node is dead. It returns when the run is over.
func (e *end) stopped() bool {
	if !e.dead.Load() {
		return false
	}
	<-e.over
	return true
}

// Send implements [rpc.Transport].
func (e *end) Send(to string, batch []rpc.Message) {
	if e.stopped() {
		return
	}
	e.messages.Add(uint64(len(batch)))
	e.BeatTransport.Send(to, batch)
}

// SendBeat implements [rpc.BeatTransport].
func (e *end) SendBeat(to string, b *rpc.Beat) {
	if e.stopped() {
		return
	}
	e.beats.Add(1)
	e.BeatTransport.SendBeat(to, b)
}

// Serve implements [rpc.Transport].
func (e *end) Serve(h rpc.Handler) (stop func(), err error) {
	return e.BeatTransport.Serve(ear{h, h.(rpc.BeatHandler), e})
}

// ear passes on what arrives for a node that lives.
type ear struct {
	handler rpc.Handler
	beats   rpc.BeatHandler
	end     *end
}

func (e ear) Receive(batch []rpc.Message) {
	if !e.end.dead.Load() {
		e.handler.Receive(batch)
	}
}

func (e ear) ReceiveBeat(b *rpc.Beat) {
	if !e.end.dead.Load() {
		e.beats.ReceiveBeat(b)
	}
}

func (e ear) PeerLost(node string) {
	if !e.end.dead.Load() {
		e.handler.PeerLost(node)
	}
}
