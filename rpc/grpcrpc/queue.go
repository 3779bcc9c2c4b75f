// The messages that wait to be sent to a peer, and the beat that does. Their number is bounded.
// Heartbeats are dropped first, and only the newest one of each group waits: older ones are out
// of date, and a peer that hung for a while need not read them first. Only the newest beat waits
// for the same reason. It goes first, because many groups rely on it.

package grpcrpc

import (
	"context"
	"sync"

	"github.com/hustings/hustings/rpc"
)

// maxQueued bounds the messages that wait for one peer, which may read slowly or be away.
const maxQueued = 1 << 16

// maxBatch bounds the messages in one packet, which keeps the packet well below the
// receiver's limit.
const maxBatch = 1 << 10

// queue is filled by any goroutine and emptied by one at a time. It is made by newQueue.
type queue struct {
	mu         sync.Mutex
	beat       *rpc.Beat      // nil: none
	urgent     []rpc.Message  // in the order of arrival
	heartbeats []rpc.Message  // the periodic messages
	mixed      bool           // heartbeats has messages of several batches, so some may be superseded
	newest     int            // the length of heartbeats after the last supersede
	places     map[series]int // for supersede
	wake       chan struct{}
}

// series is the key of periodic messages: a message supersedes an older one with the same key.
type series struct {
	group string
	kind  rpc.Kind
}

func newQueue() *queue {
	return &queue{places: make(map[series]int), wake: make(chan struct{}, 1)}
}

// put adds a batch, and returns how many messages it dropped: superseded heartbeats first, then
// the oldest heartbeats, and other messages only when no heartbeat is left. It searches for
// superseded ones only when the queue has grown.
func (q *queue) put(batch []rpc.Message) (dropped int) {
	q.mu.Lock()
	waited := len(q.heartbeats)
	for i := range batch {
		if batch[i].Kind.Periodic() {
			q.heartbeats = append(q.heartbeats, batch[i])
		} else {
			q.urgent = append(q.urgent, batch[i])
		}
	}
	q.mixed = q.mixed || waited > 0 && len(q.heartbeats) > waited
	if len(q.heartbeats) > 2*q.newest+maxBatch {
		dropped = q.supersede()
	}
	if over := len(q.urgent) + len(q.heartbeats) - maxQueued; over > 0 {
		dropped += over
		oldest := min(over, len(q.heartbeats))
		q.heartbeats = q.heartbeats[oldest:]
		q.urgent = q.urgent[over-oldest:]
	}
	q.mu.Unlock()
	q.wakeUp()
	return dropped
}

// putBeat lets a beat wait in place of the one that waits, if any, and returns how many it
// dropped.
func (q *queue) putBeat(b *rpc.Beat) (dropped int) {
	q.mu.Lock()
	if q.beat != nil {
		dropped = 1
	}
	q.beat = b
	q.mu.Unlock()
	q.wakeUp()
	return dropped
}

func (q *queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// supersede keeps only the newest heartbeat of each group, in the place of the oldest, so that
// a group with frequent heartbeats does not wait longer.
func (q *queue) supersede() (dropped int) {
	kept := q.heartbeats[:0]
	for i := range q.heartbeats {
		of := series{q.heartbeats[i].Group, q.heartbeats[i].Kind}
		if place, waits := q.places[of]; waits {
			kept[place] = q.heartbeats[i]
			continue
		}
		q.places[of] = len(kept)
		kept = append(kept, q.heartbeats[i])
	}
	clear(q.places)
	dropped = len(q.heartbeats) - len(kept)
	q.heartbeats, q.mixed, q.newest = kept, false, len(kept)
	return dropped
}

// take returns what to send next, the beat before the messages, of which there are at most
// maxBatch; and how many messages were superseded. It waits until there is something, and returns
// nothing when the context ends. Messages have their turn with every beat, so that a peer that
// reads slowly does not read beats only. And heartbeats have half of a batch: otherwise very many votes
// would have new leaders lose the offices that votes have given them.
func (q *queue) take(ctx context.Context, batch []rpc.Message) (beat *rpc.Beat, _ []rpc.Message, dropped int) {
	for {
		q.mu.Lock()
		if q.mixed {
			dropped = q.supersede()
		}
		batch, q.urgent = move(batch, q.urgent, maxBatch-min(maxBatch/2, len(q.heartbeats)))
		batch, q.heartbeats = move(batch, q.heartbeats, maxBatch)
		beat, q.beat = q.beat, nil
		q.mu.Unlock()
		if beat != nil || len(batch) > 0 {
			return beat, batch, dropped
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil, nil, dropped
		}
	}
}

// forget empties the queue, and returns how many messages and beats were in it. What waited for
// a connection is stale when there is one: a late vote is of no use, and its answer would
// suggest a long round trip.
func (q *queue) forget() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	stale := len(q.urgent) + len(q.heartbeats)
	q.urgent, q.heartbeats, q.mixed = nil, nil, false
	if q.beat != nil {
		q.beat = nil
		stale++
	}
	return stale
}

// move moves messages from the front of one slice to the end of a batch, which has so many then at most.
func move(to, from []rpc.Message, most int) (_, rest []rpc.Message) {
	n := min(most-len(to), len(from))
	to = append(to, from[:n]...)
	if n == len(from) {
		return to, from[:0]
	}
	return to, from[n:]
}
