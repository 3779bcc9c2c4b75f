// The transport of our messages, which counts what the hosts send, and holds up the loop of a dead one.

package groups

import (
	"github.com/hustings/hustings/internal/directwire"
	"github.com/hustings/hustings/rpc"
)

// wire connects the hosts of one process.
type wire struct {
	ends map[string]*end
	seen *Seen
	over chan struct{} // closed at the end, when dead hosts may go on
}

func newWire(nodes []string, seen *Seen) *wire {
	w := &wire{ends: make(map[string]*end, len(nodes)), seen: seen, over: make(chan struct{})}
	direct := directwire.New(nodes...)
	for _, node := range nodes {
		w.ends[node] = &end{End: direct.End(node), wire: w}
	}
	return w
}

// close ends the network: nothing is delivered any more, and nobody waits.
func (w *wire) close() {
	for _, e := range w.ends {
		e.Silence()
	}
	close(w.over)
}

// end is the transport of one host. While it is silent the host is dead: nothing reaches it, and it waits in
// its next send.
type end struct {
	*directwire.End
	wire *wire
}

// SendBeat passes a beat to the other host.
func (e *end) SendBeat(to string, b *rpc.Beat) {
	if e.dies() {
		return
	}
	e.wire.seen.Messages.Add(1)
	e.wire.seen.Beats.Add(1)
	e.End.SendBeat(to, b)
}

// Send passes a batch to the other host.
func (e *end) Send(to string, batch []rpc.Message) {
	if e.dies() {
		return
	}
	e.wire.seen.Messages.Add(uint64(len(batch)))
	e.End.Send(to, batch)
}

// dies reports whether the host is dead, and then holds up its loop until the end, so that it costs
// nothing.
func (e *end) dies() bool {
	if e.Silent() {
		<-e.wire.over
		return true
	}
	return false
}
