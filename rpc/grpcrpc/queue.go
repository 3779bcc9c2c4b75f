// What waits to be sent to a peer. It is bounded. Heartbeats give way, and of those
// of one group only the newest waits: what an older one said no longer holds, and a
// peer that hung for a while must not read all of them first.

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

// queue is filled by anyone and emptied by one at a time. It is made by newQueue.
type queue struct {
	mu     sync.Mutex
	urgent []rpc.Message // in the order they came
	beats  []rpc.Message // those that are periodic
	mixed  bool          // beats has those of several batches, so some may be superseded
	newest int           // how many of beats there were when none was
	places map[beat]int  // for supersede
	wake   chan struct{}
}

// beat is what a periodic message supersedes an older one of.
type beat struct {
	group string
	kind  rpc.Kind
}

func newQueue() *queue {
	return &queue{places: make(map[beat]int), wake: make(chan struct{}, 1)}
}

// put adds a batch, and returns how many messages had to go: heartbeats that are
// superseded, then the oldest heartbeats, and something else only where there are
// none. As long as messages go out as they come nothing is looked for.
func (q *queue) put(batch []rpc.Message) (dropped int) {
	q.mu.Lock()
	waited := len(q.beats)
	for i := range batch {
		if batch[i].Kind.Periodic() {
			q.beats = append(q.beats, batch[i])
		} else {
			q.urgent = append(q.urgent, batch[i])
		}
	}
	q.mixed = q.mixed || waited > 0 && len(q.beats) > waited
	if len(q.beats) > 2*q.newest+maxBatch {
		dropped = q.supersede()
	}
	if over := len(q.urgent) + len(q.beats) - maxQueued; over > 0 {
		dropped += over
		beats := min(over, len(q.beats))
		q.beats = q.beats[beats:]
		q.urgent = q.urgent[over-beats:]
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default: // it is awake
	}
	return dropped
}

// supersede leaves only the newest heartbeat of each group, in the place that the
// oldest has: a group whose heartbeats come often must not wait the longer for it.
func (q *queue) supersede() (dropped int) {
	kept := q.beats[:0]
	for i := range q.beats {
		of := beat{q.beats[i].Group, q.beats[i].Kind}
		if place, waits := q.places[of]; waits {
			kept[place] = q.beats[i]
			continue
		}
		q.places[of] = len(kept)
		kept = append(kept, q.beats[i])
	}
	clear(q.places)
	dropped = len(q.beats) - len(kept)
	clear(q.beats[len(kept):])
	q.beats, q.mixed, q.newest = kept, false, len(kept)
	return dropped
}

// take returns what is to go out next, at most maxBatch messages, and how many were
// superseded. It waits for the first, and returns nothing when the context ends.
func (q *queue) take(ctx context.Context, batch []rpc.Message) (_ []rpc.Message, dropped int) {
	for {
		q.mu.Lock()
		if q.mixed {
			dropped = q.supersede()
		}
		batch, q.urgent = move(batch, q.urgent)
		batch, q.beats = move(batch, q.beats)
		q.mu.Unlock()
		if len(batch) > 0 {
			return batch, dropped
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil, dropped
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
	q.urgent, q.beats, q.mixed = nil, nil, false
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
