// The loop: what comes in for it from the transport, from callers and from what works
// beside it, and how the node is told of that, turn by turn. It alone touches the node.

package elector

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/rpc"
)

// Receive takes what the transport delivers.
func (h *Host) Receive(batch []rpc.Message) {
	h.mu.Lock()
	lost := h.intake.Receive(batch)
	h.mu.Unlock()
	if lost > 0 {
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
	h.intake.Take(&h.taken)
}

// workOff tells the node what was taken.
func (h *Host) workOff() { h.taken.WorkOff(h.node.Deliver, h.node.Do) }
