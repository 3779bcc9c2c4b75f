package elector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

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

// Nor of one that it has refused.
func TestNothingIsKeptOfAGroupThatIsRefused(t *testing.T) {
	host, err := NewHost(HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
	require.NoError(t, err)
	config := GroupConfig{
		Group: "g", Members: memberstate.Voters("n0"), Timing: DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	}
	_, err = host.Join(config)
	require.NoError(t, err)
	config.Members = memberstate.Voters("n0", "n1")
	_, err = host.Join(config)
	require.ErrorIs(t, err, ErrGroupExists)
	assert.Len(t, host.electorates, 1)
}
