// Whose the slices are: a node uses its batches and its beat again as soon as they are sent, and may keep the beats
// that it gets.

package rpctest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// everyKind has a message of every kind, because a transport may treat some as more urgent than others. It has other values in
// all fields for another first number.
func everyKind(t *testing.T, first int) (all []rpc.Message) {
	t.Helper()
	for kind := rpc.VoteRequest; kind.Valid(); kind++ {
		var m rpc.Message
		fill(t, &m, first)
		m.From, m.To, m.Kind, m.Mark, m.Result = "a", "b", kind, rpc.Plain, 0
		for !m.Result.Answers(kind) {
			m.Result++
		}
		require.True(t, m.WellFormed(), m)
		all = append(all, m)
	}
	return all
}

// usedAgain is a slice with room behind its end, all of which its owner changes once it was sent.
type usedAgain[T any] struct{ room []T }

// filled is the slice, with these values. Behind its end are others.
func (u *usedAgain[T]) filled(values, others []T) []T {
	if u.room == nil {
		u.room = make([]T, 3*len(values))
	}
	u.spoil(others)
	return append(u.room[:0], values...)
}

// spoil puts others into the whole room.
func (u *usedAgain[T]) spoil(others []T) {
	for i := range u.room {
		u.room[i] = others[i%len(others)]
	}
}

func (s *stand) senderUsesItsBatchAgain() {
	e := newEar()
	s.serve("b", e)
	want, others := everyKind(s.t, 0), everyKind(s.t, 1000)
	u := new(usedAgain[rpc.Message])
	sent := func() {
		for range 100 {
			batch := u.filled(everyKind(s.t, 0), others)
			s.node("a").Send("b", batch)
			require.Equal(s.t, want, batch, "Send has changed the batch")
			require.Equal(s.t, others[0], u.room[len(want)], "Send has written behind the batch")
			u.spoil(others)
		}
	}
	heard := map[rpc.Kind]bool{}
	for len(heard) < len(want) {
		m := until(s, e.heard, sent)
		require.Contains(s.t, want, m)
		heard[m.Kind] = true
	}
	for range len(e.heard) {
		m := <-e.heard
		require.Contains(s.t, want, m)
	}
}

func (s *stand) senderUsesItsBeatAgain() {
	e := newBeatEar()
	s.serve("b", e)
	filled := func(first int) *rpc.Beat {
		b := new(rpc.Beat)
		fill(s.t, b, first)
		b.From, b.To, b.Standing.State = "a", "b", rpc.Drained
		return b
	}
	want, other := filled(0), filled(1000)
	u, b := new(usedAgain[rpc.Leaving]), new(rpc.Beat)
	sent := func() {
		for range 100 {
			*b = *filled(0)
			b.Leavings = u.filled(b.Leavings, other.Leavings)
			s.sendBeat("b", b)
			require.Equal(s.t, want, b, "SendBeat has changed the beat")
			*b = *other
			u.spoil(other.Leavings)
		}
	}
	require.Equal(s.t, want, until(s, e.beats, sent))
	for range len(e.beats) {
		require.Equal(s.t, want, <-e.beats)
	}
}

func (s *stand) handlerMayKeepABeat() {
	e := newBeatEar()
	s.serve("b", e)
	b := beat("b", 1)
	first := s.beatUntil("b", e, b)
	first.Number, first.Leavings[0].Number = 666, 666
	for range 10 {
		assert.Equal(s.t, beat("b", 1), s.beatUntil("b", e, b))
	}
	assert.Equal(s.t, []any{uint64(666), uint32(666)}, []any{first.Number, first.Leavings[0].Number}, "a kept beat has changed")
}
