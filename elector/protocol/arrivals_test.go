// The messages that wait for a node: their order, their bound, and their memory.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// inUse is an intake with one group that takes part.
func inUse(t *testing.T) (*Intake, *Group) {
	t.Helper()
	in, g := new(Intake), &Group{name: "g"}
	require.NoError(t, in.Join(g))
	require.NoError(t, in.Start(g))
	in.Enter(g, 0, nil)
	return in, g
}

func TestMessagesAreHandedOverInOrderAndForgotten(t *testing.T) {
	in, g := inUse(t)
	blocks := map[*block]bool{}
	var taken Taken
	in.Take(&taken)
	const burst, turns = 150, 5
	for turn := range turns {
		for i := range burst {
			require.Zero(t, in.Receive([]rpc.Message{{Group: "g", Body: rpc.Body{Round: uint32(i)}}, {Group: "another"}}))
		}
		in.Take(&taken)
		for _, b := range taken.arrived.blocks {
			blocks[b] = true
		}
		var rounds []uint32
		strangers := 0
		taken.Drain(nil, func(at *Group, m *rpc.Message) {
			if at == nil {
				strangers++
				return
			}
			assert.Same(t, g, at)
			rounds = append(rounds, m.Round)
		}, func(*Request) {})
		assert.Len(t, rounds, burst, "turn %d", turn)
		assert.IsIncreasing(t, rounds)
		assert.Equal(t, burst, strangers)
	}
	assert.Len(t, blocks, 2*5, "what was handled two turns ago is used again")
	for b := range blocks {
		assert.Equal(t, block{}, *b)
	}
}

func TestNoMoreMessagesWaitThanThereIsRoomFor(t *testing.T) {
	const room = 65_536 // a number and not the constant: each message takes about 200 bytes, so the bound is a promise about memory
	in, _ := inUse(t)
	batch := make([]rpc.Message, room-1)
	var taken Taken
	handed := 0
	for burst := range 3 {
		require.Zero(t, in.Receive(batch), "burst %d", burst)
		require.Equal(t, len(batch)-1, in.Receive(batch))
		require.Equal(t, len(batch), in.Receive(batch))
		for more := true; more; {
			more = in.Take(&taken)
			taken.Drain(nil, func(*Group, *rpc.Message) { handed++ }, func(*Request) {})
		}
		require.Equal(t, (1+burst)*room, handed)
	}
	in.Take(&taken)
	assert.LessOrEqual(t, len(in.spare), spareBlocks, "a burst's room is not kept")
	for _, q := range []arrivals{in.arrived, taken.arrived} {
		for _, b := range q.blocks[:cap(q.blocks)] {
			assert.Nil(t, b)
		}
	}
}

// The rest waits for the next turn, behind nothing that comes later.
func TestATurnHasOnlySoManyMessages(t *testing.T) {
	in, _ := inUse(t)
	var taken Taken
	const all = 3*usualTurn + 1
	for i := range all {
		require.Zero(t, in.Receive([]rpc.Message{{Group: "g", Body: rpc.Body{Round: uint32(i)}}}))
	}
	var turns []int
	next := uint32(0)
	for more := true; more; {
		more = in.Take(&taken)
		if len(turns) == 0 {
			in.Receive([]rpc.Message{{Group: "g", Body: rpc.Body{Round: all}}})
		}
		handed := 0
		taken.Drain(nil, func(_ *Group, m *rpc.Message) {
			handed++
			require.Equal(t, next, m.Round)
			next++
		}, func(*Request) {})
		turns = append(turns, handed)
	}
	assert.Equal(t, []int{usualTurn, usualTurn, usualTurn, 2}, turns)
	assert.False(t, in.Take(&taken))
}

func TestNothingWaitsForAGroupThatTakesNoPart(t *testing.T) {
	var in Intake
	assert.Equal(t, 3, in.Receive(make([]rpc.Message, 3)))
}
