// What waits to be sent to a peer: bounded, and heartbeats give way.

package grpcrpc

import (
	"context"
	"sync"

	"github.com/hustings/hustings/rpc"
)

// maxQueued bounds what waits for one peer. A peer that reads slowly, or is
// away, costs no more than this.
const maxQueued = 1 << 16

// maxBatch bounds how many messages go out in one packet, which keeps it well
// below the limit that the other side has for one.
const maxBatch = 1 << 10

// queue is filled by anyone and emptied by one at a time. The zero queue is empty.
type queue struct {
	mu     sync.Mutex
	urgent []rpc.Message // in the order they came
	beats  []rpc.Message // those that are periodic
	wake   chan struct{} // made by newQueue
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// put adds a batch, and returns how many messages had to go: the oldest
// heartbeats first, and something else only where there are none.
func (q *queue) put(batch []rpc.Message) (dropped int) {
	q.mu.Lock()
	for i := range batch {
		if batch[i].Kind.Periodic() {
			q.beats = append(q.beats, batch[i])
		} else {
			q.urgent = append(q.urgent, batch[i])
		}
	}
	if dropped = len(q.urgent) + len(q.beats) - maxQueued; dropped > 0 {
		beats := min(dropped, len(q.beats))
		q.beats = q.beats[beats:]
		q.urgent = q.urgent[dropped-beats:]
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default: // it is awake
	}
	return max(dropped, 0)
}

// take returns what is to go out next, at most maxBatch messages. It waits for
// the first, and returns nothing when the context ends.
func (q *queue) take(ctx context.Context, batch []rpc.Message) []rpc.Message {
	for {
		q.mu.Lock()
		batch, q.urgent = move(batch, q.urgent)
		batch, q.beats = move(batch, q.beats)
		q.mu.Unlock()
		if len(batch) > 0 {
			return batch
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// forget empties the queue, and returns how much was in it. What waited for a
// connection is stale when there is one: a late vote is of no use, and its answer
// would show a round trip that no message takes.
func (q *queue) forget() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	stale := len(q.urgent) + len(q.beats)
	q.urgent, q.beats = nil, nil
	return stale
}

// move moves what there is room for from the front of one slice to the end of another.
func move(to, from []rpc.Message) (_, rest []rpc.Message) {
	n := min(maxBatch-len(to), len(from))
	to = append(to, from[:n]...)
	clear(from[:n])
	if n == len(from) {
		return to, from[:0]
	}
	return to, from[n:]
}
