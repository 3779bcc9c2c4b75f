// The loop: what comes in for it from the transport, from callers and from what works
// beside it, and how the node is told of that, turn by turn. It alone touches the node.

package elector

import (
	"sync"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/rpc"
)

// maxArrived bounds the messages that wait for the loop.
const maxArrived = 1 << 16

// Receive takes what the transport delivers.
func (h *Host) Receive(batch []rpc.Message) {
	h.mu.Lock()
	room := 0
	if h.intake.Live() > 0 { // else there is no loop to take them
		room = min(maxArrived-h.arrived.count, len(batch))
	}
	for i := range room {
		*h.arrived.next(&h.blocks) = arrival{h.intake.Group(batch[i].Group), batch[i]}
	}
	h.mu.Unlock()
	if lost := len(batch) - room; lost > 0 {
		h.drop(protocol.DropQueueFull, lost)
	}
	h.rouse()
}

// PeerLost takes the transport's hint that a node is gone.
func (h *Host) PeerLost(node string) {
	h.requestOnce(protocol.Request{Subject: protocol.Subject{Kind: protocol.TellPeerLost, Node: node}})
}

// request has a request wait for the loop, and says whether it will be done: not if no group
// runs, because then there is no loop.
func (h *Host) request(r protocol.Request) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.rouse()
	return h.intake.Add(r)
}

// requestOnce is request for what anybody may say as often as he likes. It returns who waits
// for the outcome: whoever was the first to ask.
func (h *Host) requestOnce(r protocol.Request) (waits protocol.Measurer, done bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.rouse()
	if same := h.intake.AddOnce(r); same != nil {
		return same.For, true
	}
	return nil, false
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
	h.take() // the last: nothing is accepted any more, but someone may wait for what was
	h.workOff()
}

// turn takes everything that is there, then sends and saves in batches. It
// returns false when there is no group left.
func (h *Host) turn() bool {
	h.take()
	h.now = h.elapsed() // after the queues were taken: see Node.At
	h.node.At(h.now)
	h.workOff()
	h.node.EndTurn()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.intake.Live() > 0
}

// take takes what has come in since the last time.
func (h *Host) take() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken, h.arrived = h.arrived, h.taken
	h.requests = h.intake.Take(h.requests)
}

// workOff tells the node what was taken.
func (h *Host) workOff() {
	h.taken.workOff(&h.blocks, h.node.Deliver)
	for i := range h.requests {
		h.node.Do(&h.requests[i])
	}
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

// arrival is a message with the group that it is for; nil if there is none.
type arrival struct {
	at      *protocol.Group
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
func (in *inbox) workOff(free *sync.Pool, deliver func(*protocol.Group, *rpc.Message)) {
	for i, b := range in.blocks {
		for k := range b.used {
			deliver(b.arrivals[k].at, &b.arrivals[k].message)
		}
		clear(b.arrivals[:b.used])
		b.used = 0
		free.Put(b)
		in.blocks[i] = nil
	}
	in.blocks, in.count = in.blocks[:0], 0
}
