// The place of the beat in the queue to a peer.

package grpcrpc

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/rpc"
)

func TestTheNewestBeatTakesThePlaceOfTheOneThatWaits(t *testing.T) {
	q := newQueue()
	q.put([]rpc.Message{heartbeatOfGroup(1), vote(2)})
	assert.Zero(t, q.putBeat(&rpc.Beat{Number: 7}))
	assert.Equal(t, 1, q.putBeat(&rpc.Beat{Number: 8}))
	assert.Equal(t, 1, q.putBeat(&rpc.Beat{Number: 9}))
	beat, batch, superseded := q.take(t.Context(), nil)
	assert.EqualValues(t, 9, beat.Number)
	assert.Len(t, batch, 2)
	assert.Zero(t, superseded)

	assert.Zero(t, q.putBeat(&rpc.Beat{Number: 10}), "the one before was taken")
	beat, batch, _ = q.take(t.Context(), nil)
	assert.EqualValues(t, 10, beat.Number, "it waits for no message")
	assert.Empty(t, batch)
	q.put([]rpc.Message{vote(3)})
	beat, batch, _ = q.take(t.Context(), nil)
	assert.Nil(t, beat, "it is sent once")
	assert.Len(t, batch, 1)
}

// Neither takes room from the other.
func TestABeatHasAPlaceOfItsOwn(t *testing.T) {
	q := newQueue()
	q.put(make([]rpc.Message, maxQueued))
	assert.Zero(t, q.putBeat(new(rpc.Beat)))
	q = newQueue()
	q.putBeat(new(rpc.Beat))
	assert.Zero(t, q.put(make([]rpc.Message, maxQueued)))
}

func TestAForgottenBeatIsCountedAndNotSent(t *testing.T) {
	q := newQueue()
	q.put([]rpc.Message{vote(1)})
	q.putBeat(new(rpc.Beat))
	assert.Equal(t, 2, q.forget())
	assert.Zero(t, q.forget())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	beat, batch, _ := q.take(ended, nil)
	assert.Nil(t, beat)
	assert.Empty(t, batch)
}

// As for messages: a sender that wakes earlier finds nothing, and sleeps until the next one.
func TestABeatWakesTheSenderOnceItIsQueued(t *testing.T) {
	q := newQueue()
	wakesWhenQueued(t, q, func() { q.putBeat(new(rpc.Beat)) })
}
