// Which beats are well formed, and copies of beats.

package rpc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/rpc"
)

// someBeat is a beat with as many leavings as there may be.
func someBeat() *rpc.Beat {
	b := &rpc.Beat{From: "a", To: "b", Session: rpc.Session{Incarnation: 1}, Leavings: make([]rpc.Leaving, rpc.MaxLeavings)}
	for i := range b.Leavings {
		b.Leavings[i] = rpc.Leaving{Group: strings.Repeat("g", rpc.MaxGroupLength), Term: 1, Number: uint32(i + 1)}
	}
	return b
}

func TestABeatIsWellFormedIfANodeCanSendIt(t *testing.T) {
	assert.True(t, someBeat().WellFormed())
	assert.True(t, (&rpc.Beat{Session: rpc.Session{Incarnation: 1}}).WellFormed(), "without leavings")
	for why, spoil := range map[string]func(*rpc.Beat){
		"no incarnation":             func(b *rpc.Beat) { b.Incarnation = 0 },
		"too many leavings":          func(b *rpc.Beat) { b.Leavings = append(b.Leavings, b.Leavings[0]) },
		"no group":                   func(b *rpc.Beat) { b.Leavings[0].Group = "" },
		"a group's name is too long": func(b *rpc.Beat) { b.Leavings[rpc.MaxLeavings-1].Group += "g" },
		"a group's name is no text":  func(b *rpc.Beat) { b.Leavings[1].Group = "\xff" },
		"no term":                    func(b *rpc.Beat) { b.Leavings[2].Term = 0 },
		"no number":                  func(b *rpc.Beat) { b.Leavings[3].Number = 0 },
		"no state of a node":         func(b *rpc.Beat) { b.Standing.State = rpc.Drained + 1 },
	} {
		b := someBeat()
		spoil(b)
		assert.False(t, b.WellFormed(), why)
	}
}

func TestACloneOfABeatSharesNothing(t *testing.T) {
	b := someBeat()
	c := b.Clone()
	assert.Equal(t, b, c)
	c.Number, c.Leavings[0].Number = 666, 666
	assert.Equal(t, someBeat(), b)
}

// Beats may overtake each other. Their numbers begin anew with every start of the sender, and one that it
// sends again has the same number.
func TestABeatIsOlderThanALaterOneOfItsSender(t *testing.T) {
	b := &rpc.Beat{Session: rpc.Session{Incarnation: 5}, Number: 7}
	for _, c := range []struct {
		incarnation, number uint64
		older               bool
	}{
		{5, 6, false}, {5, 7, false}, {5, 8, true}, // of the same process
		{6, 1, true}, {6, 7, true}, {4, 9, false},
	} {
		other := &rpc.Beat{Session: rpc.Session{Incarnation: c.incarnation}, Number: c.number}
		assert.Equal(t, c.older, b.OlderThan(other), "%+v", c)
	}
}
