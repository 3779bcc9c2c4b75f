// The loop: what comes in for it from the transport, from callers and from what works
// beside it, and how it works that off, turn by turn. It alone touches the node.

package elector

import (
	"sync"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/rpc"
)

const (
	maxArrived = 1 << 16 // messages that wait for the loop
	usual      = 256     // requests that are not many
)

// Receive takes what the transport delivers.
func (h *Host) Receive(batch []rpc.Message) {
	h.mu.Lock()
	room := 0
	if h.live > 0 { // else there is no loop to take them
		room = min(maxArrived-h.arrived.count, len(batch))
	}
	for i := range room {
		*h.arrived.next(&h.blocks) = arrival{h.names[batch[i].Group], batch[i]}
	}
	h.mu.Unlock()
	if lost := len(batch) - room; lost > 0 {
		h.drop(protocol.DropQueueFull, lost)
	}
	h.rouse()
}

// PeerLost takes the transport's hint that a node is gone.
func (h *Host) PeerLost(node string) {
	h.requestOnce(errand{kind: protocol.PeerLost, node: node}, func() {
		all := h.Electors()
		h.node.PeerLost(node, func(yield func(*protocol.Group) bool) {
			for _, e := range all {
				if !yield(&e.group) {
					return
				}
			}
		})
	})
}

// request has the loop call f, and says whether it will: not if no group runs, for
// then there is no loop.
func (h *Host) request(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requestLocked(f)
}

func (h *Host) requestLocked(f func()) bool {
	if h.live == 0 {
		return false
	}
	h.requests = append(h.requests, f)
	h.rouse()
	return true
}

// errand is a request that anyone may make as often as they like, and do not wait
// for: there is one at a time.
type errand struct {
	kind    protocol.InputKind
	elector *Elector
	node    string
}

// requestOnce is request for an errand. It does nothing if the loop has been asked for
// the same and has not begun.
func (h *Host) requestOnce(what errand, f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, asked := h.errands[what]; asked {
		return
	}
	asked := h.requestLocked(func() {
		h.mu.Lock()
		delete(h.errands, what)
		h.mu.Unlock()
		f()
	})
	if asked {
		h.errands[what] = struct{}{}
	}
}

func (h *Host) rouse() {
	select {
	case h.wake <- struct{}{}:
	default: // it has been told already
	}
}

// loop works off what happens, until the last group has ended.
func (h *Host) loop(stopServing func(), stopped chan struct{}) {
	defer close(stopped)
	defer stopServing()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for h.turn() {
		wait := time.Hour
		if next, ok := h.node.Next(); ok {
			wait = next - h.elapsed()
		}
		timer.Reset(max(wait, 0))
		select {
		case <-h.wake:
		case <-timer.C:
		}
	}
	h.takeAll() // the last: nothing is accepted any more, but someone may wait for what was
	h.taken.workOff(&h.blocks, h.deliver)
	h.callAll()
}

// takeAll takes what has come in since the last time.
func (h *Host) takeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken, h.arrived = h.arrived, h.taken
	h.called, h.requests = h.requests, h.called
}

// callAll does what was requested.
func (h *Host) callAll() {
	for i, f := range h.called {
		f()
		h.called[i] = nil
	}
	if h.called = h.called[:0]; cap(h.called) > usual {
		h.called = nil // it was a burst
	}
}

// turn takes everything that is there, then sends and saves in batches. It
// returns false when there is no group left.
func (h *Host) turn() bool {
	h.takeAll()
	h.now = h.elapsed() // after the queues were taken: see Node.At
	h.node.At(h.now)
	h.taken.workOff(&h.blocks, h.deliver)
	h.callAll()
	h.node.EndTurn()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live > 0
}

// deliver hands a message to the node.
func (h *Host) deliver(a *arrival) {
	var g *protocol.Group
	if a.at != nil {
		g = &a.at.group
	}
	h.node.Deliver(g, &a.message)
}

// inbox has the messages that the loop has not taken yet. They lie in blocks,
// each of which is free again when its messages are worked off: what a burst
// needs is not kept, nor is it in use until the burst is over.
type inbox struct {
	blocks []*block // all but the last are full
	count  int      // of messages
}

// block is room for some messages.
type block struct {
	used     int
	arrivals [64]arrival
}

// arrival is a message with the elector that it is for; nil if there is none.
type arrival struct {
	at      *Elector
	message rpc.Message
}

// next is where the next message goes.
func (in *inbox) next(free *sync.Pool) *arrival {
	last := len(in.blocks) - 1
	if last < 0 || in.blocks[last].used == len(in.blocks[last].arrivals) {
		b, ok := free.Get().(*block)
		if !ok {
			b = new(block)
		}
		in.blocks = append(in.blocks, b)
		last++
	}
	b := in.blocks[last]
	b.used++
	in.count++
	return &b.arrivals[b.used-1]
}

// workOff delivers all messages, and leaves an empty inbox.
func (in *inbox) workOff(free *sync.Pool, deliver func(*arrival)) {
	for i, b := range in.blocks {
		for k := range b.used {
			deliver(&b.arrivals[k])
		}
		clear(b.arrivals[:b.used])
		b.used = 0
		free.Put(b)
		in.blocks[i] = nil
	}
	in.blocks, in.count = in.blocks[:0], 0
}
