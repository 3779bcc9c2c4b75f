// The queue to a peer is bounded, and keeps only the newest heartbeat of each group.

package grpcrpc

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// heartbeatOfGroup is a heartbeat of a group that is named for the round.
func heartbeatOfGroup(round uint32) rpc.Message {
	return rpc.Message{Group: fmt.Sprint("group ", round), Body: rpc.Body{Kind: rpc.Heartbeat, Round: round}}
}

func vote(round uint32) rpc.Message {
	return rpc.Message{Body: rpc.Body{Kind: rpc.VoteRequest, Round: round}}
}

func TestAFullQueueDropsTheOldestHeartbeatsFirst(t *testing.T) {
	q := newQueue()
	for i := range uint32(maxQueued / 2) {
		assert.Zero(t, q.put([]rpc.Message{heartbeatOfGroup(i), vote(i)}))
	}
	assert.Equal(t, 1, q.put([]rpc.Message{vote(1e6)}), "a heartbeat is dropped")
	assert.EqualValues(t, 1, q.heartbeats[0].Round, "the oldest one")
	assert.Equal(t, 1, q.put([]rpc.Message{heartbeatOfGroup(1e6)}))
	assert.EqualValues(t, 2, q.heartbeats[0].Round)
	votes := make([]rpc.Message, maxQueued)
	for i := range votes {
		votes[i] = vote(uint32(2e6 + i))
	}
	assert.Equal(t, maxQueued, q.put(votes))
	assert.Empty(t, q.heartbeats)
	assert.Len(t, q.urgent, maxQueued)
	assert.Equal(t, uint32(2_000_000), q.urgent[0].Round, "the oldest votes are dropped when there is no heartbeat left")
}

// A full queue drops what is superseded first, and then what is too much.
func TestAllDroppedMessagesAreCounted(t *testing.T) {
	q := newQueue()
	require.Zero(t, q.put(make([]rpc.Message, maxQueued)))
	beats := make([]rpc.Message, maxBatch+2)
	for i := range beats {
		beats[i] = heartbeatOfGroup(1)
	}
	assert.Equal(t, len(beats), q.put(beats))
}

func TestAQueueYieldsVotesBeforeHeartbeats(t *testing.T) {
	q := newQueue()
	q.put([]rpc.Message{heartbeatOfGroup(1), vote(2), heartbeatOfGroup(3), vote(4)})
	rounds, _ := roundsOf(t, q)
	assert.Equal(t, []uint32{2, 4, 1, 3}, rounds)
	q.put(make([]rpc.Message, maxBatch+1))
	rounds, _ = roundsOf(t, q)
	assert.Len(t, rounds, maxBatch)
	rounds, _ = roundsOf(t, q)
	assert.Len(t, rounds, 1)
	q.put([]rpc.Message{heartbeatOfGroup(1), vote(2)})
	assert.Equal(t, 2, q.forget())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	beat, batch, _ := q.take(ended, nil)
	assert.Nil(t, beat)
	assert.Empty(t, batch)
}

// roundsOf are the rounds of the messages that take returns.
func roundsOf(t *testing.T, q *queue) (rounds []uint32, superseded int) {
	t.Helper()
	_, batch, superseded := q.take(t.Context(), nil)
	for _, m := range batch {
		rounds = append(rounds, m.Round)
	}
	return rounds, superseded
}

// Very many votes would keep a new leader's heartbeats waiting until it has lost its office.
func TestHeartbeatsHaveHalfOfABatch(t *testing.T) {
	for heartbeats, votes := range map[int]int{0: maxBatch, 1: maxBatch - 1, maxBatch: maxBatch / 2, 2 * maxBatch: maxBatch / 2} {
		q := newQueue()
		q.put(make([]rpc.Message, 2*maxBatch))
		for i := range heartbeats {
			q.put([]rpc.Message{heartbeatOfGroup(uint32(i))})
		}
		_, batch, _ := q.take(context.Background(), nil)
		assert.Len(t, batch, maxBatch)
		for i := range batch {
			assert.Equal(t, i >= votes, batch[i].Kind == rpc.Heartbeat, "%d of %d", i, heartbeats)
		}
		assert.Len(t, q.urgent, 2*maxBatch-votes)
	}
}

// A peer that hung for a while receives the newest heartbeat of each group, and the newest answer.
func TestOnlyTheNewestHeartbeatOfAGroupIsSent(t *testing.T) {
	q := newQueue()
	message := func(group string, kind rpc.Kind, round uint32) rpc.Message {
		return rpc.Message{Group: group, Body: rpc.Body{Kind: kind, Round: round}}
	}
	const rounds = 20_000
	dropped := 0
	for i := range uint32(rounds) {
		dropped += q.put([]rpc.Message{
			message("g", rpc.Heartbeat, i), message("g", rpc.HeartbeatResponse, 1e6+i), message("h", rpc.Heartbeat, 2e6+i),
		})
		require.Less(t, len(q.heartbeats), 2*maxBatch, "superseded heartbeats wait")
	}
	q.put([]rpc.Message{message("g", rpc.VoteRequest, 5), message("g", rpc.VoteRequest, 6)})
	sent, superseded := roundsOf(t, q)
	assert.Equal(t, []uint32{5, 6, rounds - 1, 1e6 + rounds - 1, 2e6 + rounds - 1}, sent)
	assert.Equal(t, 3*(rounds-1), dropped+superseded)
	q.put([]rpc.Message{message("g", rpc.Heartbeat, 7)})
	sent, _ = roundsOf(t, q)
	assert.Equal(t, []uint32{7}, sent, "a heartbeat that was sent supersedes none")
	q.put([]rpc.Message{message("g", rpc.Heartbeat, 8)})
	q.forget()
	q.put([]rpc.Message{message("h", rpc.Heartbeat, 9), message("g", rpc.Heartbeat, 10)})
	sent, _ = roundsOf(t, q)
	assert.Equal(t, []uint32{9, 10}, sent)
}

// If one packet cannot take the heartbeats of all groups, each group has its turn.
func TestANewerHeartbeatTakesThePlaceOfTheOlder(t *testing.T) {
	q := newQueue()
	beats := make([]rpc.Message, 3*maxBatch)
	for i := range beats {
		beats[i] = heartbeatOfGroup(uint32(i))
	}
	for _, first := range []uint32{0, maxBatch, 2 * maxBatch, 0} {
		q.put(beats)
		rounds, _ := roundsOf(t, q)
		assert.Len(t, rounds, maxBatch)
		assert.Equal(t, first, rounds[0])
	}
}

// The search costs as much as the queue is long, so it must not happen with every message.
func TestALongQueueIsSearchedOnlyWhenItHasGrown(t *testing.T) {
	q := newQueue()
	beats := make([]rpc.Message, 3*maxBatch)
	for i := range beats {
		beats[i] = heartbeatOfGroup(uint32(i))
	}
	assert.Zero(t, q.put(beats))
	assert.Zero(t, q.put(beats[:maxBatch]), "it has grown by a third")
	assert.Zero(t, q.put(beats))
	assert.Equal(t, 4*maxBatch+1, q.put(beats[:1]), "it has more than doubled")
}

func BenchmarkQueue(b *testing.B) {
	q, batch := newQueue(), make([]rpc.Message, 0, maxBatch)
	var beats []rpc.Message
	for i := range uint32(1000) {
		beats = append(beats, heartbeatOfGroup(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		q.put(beats)
		_, batch, _ = q.take(b.Context(), batch[:0])
	}
}

// The wake-up must come after the message is in the queue. A sender that wakes earlier finds nothing,
// and sleeps until the next message.
func TestAMessageWakesTheSenderOnceItIsQueued(t *testing.T) {
	q := newQueue()
	wakesWhenQueued(t, q, func() { q.put([]rpc.Message{vote(1)}) })
}

// wakesWhenQueued checks that put does not wake the sender before it has queued something.
func wakesWhenQueued(t *testing.T, q *queue, put func()) {
	t.Helper()
	q.mu.Lock() // nothing can be queued now
	over := make(chan struct{})
	go func() {
		defer close(over)
		put()
	}()
	for range 1000 { // it has time to
		runtime.Gosched()
	}
	assert.Empty(t, q.wake, "too early")
	q.mu.Unlock()
	<-over
	assert.Len(t, q.wake, 1)
}
