package elector

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// What was worked off is not held on to: neither by the inbox nor by the blocks that wait for
// the next burst.
func TestAnInboxForgetsWhatWasWorkedOff(t *testing.T) {
	var in inbox
	var blocks []*block
	free := &sync.Pool{New: func() any {
		b := new(block)
		blocks = append(blocks, b)
		return b
	}}
	const burst = 150
	for round := range 3 {
		for i := range burst {
			*in.next(free) = arrival{new(protocol.Group), rpc.Message{Group: "g", Body: rpc.Body{Round: uint32(i)}}}
		}
		assert.Equal(t, burst, in.count)
		var seen []uint32
		in.workOff(free, func(_ *protocol.Group, m *rpc.Message) { seen = append(seen, m.Round) })
		assert.Len(t, seen, burst, "round %d", round)
		assert.IsIncreasing(t, seen)
		assert.Zero(t, in.count)
		assert.Empty(t, in.blocks)
	}
	for _, b := range blocks {
		assert.Equal(t, block{}, *b)
	}
}

// A host keeps nothing of a group that has ended.
func TestNothingIsKeptOfAGroupThatHasEnded(t *testing.T) {
	host, err := NewHost(HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
	require.NoError(t, err)
	for _, started := range []bool{false, true} {
		el, err := host.Join(GroupConfig{
			Group: "g", Members: memberstate.Voters("n0"), Timing: DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(t, err)
		require.Len(t, host.electorates, 1)
		if started {
			require.NoError(t, el.Start())
		}
		require.NoError(t, el.Stop(t.Context()))
		assert.Empty(t, host.electorates)
		assert.Empty(t, host.Electors())
	}
}

// However long the loop is held up, so many messages wait for it and no more.
func TestTheInboxIsBounded(t *testing.T) {
	host, err := NewHost(HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
	require.NoError(t, err)
	el, err := host.Join(GroupConfig{
		Group: "g", Members: memberstate.Voters("n0"), Timing: DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	})
	require.NoError(t, err)
	require.NoError(t, host.intake.Start(&el.group))
	host.intake.Enter(&el.group, 0, func() {}) // and there is no loop that takes anything
	batch := make([]rpc.Message, maxArrived-1)
	for range 3 {
		host.Receive(batch)
	}
	assert.Equal(t, maxArrived, host.arrived.count)
	assert.EqualValues(t, 3*len(batch)-maxArrived, host.Dropped(protocol.DropQueueFull))
}
