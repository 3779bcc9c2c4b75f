// The loop: it takes messages from the transport, and requests from callers and from the
// goroutines that work for it, and passes them to the node, turn by turn. No other goroutine
// touches the node.

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
	h.wakeLoop()
}

// PeerLost takes the transport's hint that a node is gone.
func (h *Host) PeerLost(node string) {
	h.requestOnce(protocol.Request{Subject: protocol.Subject{Kind: protocol.TellPeerLost, Node: node}})
}

// request queues a request for the loop. It returns false, and the request is dropped, if no
// group runs, because then there is no loop.
func (h *Host) request(r protocol.Request) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.wakeLoop()
	return h.intake.Add(r)
}

// requestOnce is request for requests that may be repeated without limit: while an equal one is
// queued, no other is added. It returns the Reader of the one in the queue.
func (h *Host) requestOnce(r protocol.Request) (queued protocol.Reader, done bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.wakeLoop()
	if same := h.intake.AddOnce(r); same != nil {
		return same.For, true
	}
	return nil, false
}

func (h *Host) wakeLoop() {
	select {
	case h.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// loop takes turns until the last group has ended.
func (h *Host) loop(stopServing func(), stopped chan struct{}) {
	defer close(stopped)
	defer h.log.Flush()
	defer stopServing()
	timer := time.NewTimer(time.Hour)
	for h.turn() {
		wait := time.Hour
		if next, ok := h.node.Next(); ok {
			wait = until(next, h.elapsed())
		}
		timer.Reset(wait)
		select {
		case <-h.wake:
		case <-timer.C:
		}
	}
	h.finish()
}

// until is how long the loop waits for the next turn: not at all if that is due, however long it has been.
func until(next, now time.Duration) time.Duration { return max(next, now) - now }

// finish answers callers whose requests came too late for a turn: nothing is accepted any more.
func (h *Host) finish() {
	for more := true; more; {
		more = h.take()
		h.drain()
	}
	h.node.Ended()
}

// turn processes input that has arrived, then sends and saves in batches. It
// returns false when there is no group left.
func (h *Host) turn() bool {
	more := h.take()
	h.now = h.elapsed() // after the queues were taken: see Node.At
	h.node.At(h.now)
	h.drain()
	h.node.EndTurn()
	if more {
		h.wakeLoop()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.intake.Live() > 0
}

// take moves input that has arrived into the batch, and says whether more is left.
func (h *Host) take() (more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.intake.Take(&h.batch)
}

// drain passes the batch to the node.
func (h *Host) drain() { h.batch.Drain(h.node.Beat, h.node.Deliver, h.node.Do) }
