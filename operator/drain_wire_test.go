// Operators drain nodes over the network.

package operator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc"
)

func TestOperatorsDrainNodes(t *testing.T) {
	s := newSite(t)
	first := s.settled()
	c := s.dial(first.Leader)
	now, err := c.Nodes(s.ctx)
	require.NoError(t, err)
	assert.Equal(t, first.Leader, now.Self)
	assert.Equal(t, 1, now.Groups)
	assert.Equal(t, 1, now.Progress.Led)
	require.Len(t, now.Peers, 2)
	for _, p := range now.Peers {
		assert.Equal(t, s.addresses[p.ID], p.Address)
	}

	other := c.ForProcess(now.Incarnation + 1)
	_, err = other.Drain(s.ctx, 0, func(elector.Progress) {})
	require.ErrorIs(t, err, operator.ErrOtherProcess)
	require.ErrorIs(t, other.Undrain(s.ctx), operator.ErrOtherProcess)
	require.ErrorIs(t, other.Protect(s.ctx, true), operator.ErrOtherProcess)
	require.ErrorIs(t, other.Resign(s.ctx, ""), operator.ErrOtherProcess)
	_, err = other.Transfer(s.ctx, "", "")
	require.ErrorIs(t, err, operator.ErrOtherProcess)
	_, err = other.Settings(s.ctx, "", operator.Changes{})
	require.ErrorIs(t, err, operator.ErrOtherProcess)

	require.NoError(t, c.Protect(s.ctx, true))
	_, err = c.Drain(s.ctx, time.Hour, func(elector.Progress) {})
	require.ErrorIs(t, err, elector.ErrProtected)
	now, err = c.Nodes(s.ctx)
	require.NoError(t, err)
	assert.True(t, now.Progress.Protected)
	require.NoError(t, c.Undrain(s.ctx))
	require.NoError(t, c.Protect(s.ctx, false))

	last, err := c.ForProcess(now.Incarnation).Drain(s.ctx, 0, func(elector.Progress) {})
	require.NoError(t, err)
	assert.Equal(t, rpc.Drained, last.Standing.State)
	assert.Equal(t, 1, last.Moved)
	second := s.leader(first.Term)
	assert.NotEqual(t, first.Leader, second.Leader)
	require.NoError(t, c.Undrain(s.ctx))
	now, err = c.Nodes(s.ctx)
	require.NoError(t, err)
	assert.Equal(t, rpc.Serving, now.Progress.Standing.State)
}

func TestOperatorsKeepNodesDrained(t *testing.T) {
	s := newSite(t)
	c := s.dial(s.settled().Leader)
	last, err := c.DrainAndKeep(s.ctx, 0, func(elector.Progress) {})
	require.NoError(t, err)
	assert.True(t, last.Kept)
	now, err := c.Nodes(s.ctx)
	require.NoError(t, err)
	assert.True(t, now.Progress.Kept)
	require.NoError(t, c.Undrain(s.ctx))
	last, err = c.Drain(s.ctx, 0, func(elector.Progress) {})
	require.NoError(t, err)
	assert.False(t, last.Kept)
}

// Nobody else serves, so the last node leads on.
func TestADrainThatIsStuckSaysWhichGroupsAreLeft(t *testing.T) {
	s := newSite(t)
	leader := s.settled().Leader
	for _, node := range nodes {
		if node != leader {
			_, err := s.dial(node).Drain(s.ctx, 0, func(elector.Progress) {})
			require.NoError(t, err)
		}
	}
	c := s.dial(leader)
	_, err := c.Drain(s.ctx, 0, func(elector.Progress) {})
	var stuck *operator.StuckError
	require.ErrorAs(t, err, &stuck)
	assert.Equal(t, s.addresses[leader], stuck.Address)
	require.Len(t, stuck.Groups, 1)
	assert.Equal(t, protocol.StuckGroup{Group: "orders", Why: protocol.StuckLeaving, Tries: 3}, stuck.Groups[0])
	var own *elector.StuckError
	require.ErrorAs(t, err, &own)
	assert.Equal(t, 1, own.Progress.Led)
	assert.NoError(t, own.Cause)
	assert.EqualError(t, err, s.addresses[leader]+": elector: the node still leads 1 group (1 all leaving)")

	require.NoError(t, c.Undrain(s.ctx))
	_, err = c.Drain(s.ctx, time.Millisecond, func(elector.Progress) {})
	require.ErrorAs(t, err, &stuck)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "deadline exceeded")

	gone, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err = c.Drain(gone, 0, func(elector.Progress) {})
	require.ErrorIs(t, err, context.Canceled)
}

// The nodes of a leader and its followers hear each other all the time.
func TestNodesThatHearEachOtherAreShown(t *testing.T) {
	s := newSite(t)
	leader := s.leader(0).Leader
	c := s.dial(leader)
	require.Eventually(t, func() bool {
		now, err := c.Nodes(s.ctx)
		require.NoError(t, err)
		return len(now.Peers) == 2 && now.Peers[0].Known && now.Peers[1].Known && now.Peers[0].Heard && now.Peers[0].Silence < 10*time.Second
	}, 10*time.Second, 10*time.Millisecond)
}
