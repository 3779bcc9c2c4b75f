// Hosts show what they know of each other, and name themselves.

package elector_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// peers are the other nodes as a node of the fleet knows them.
func (f *fleet) peers(node int) []protocol.Peer {
	f.t.Helper()
	all, err := f.hosts[node].Nodes(context.Background())
	require.NoError(f.t, err)
	require.Len(f.t, all, 2)
	return all
}

func TestAHostShowsTheOtherNodes(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		<-time.After(5 * time.Second) // so that all groups rest
		led := f.ledBy()
		p := f.peers(0)
		for i, other := range []int{1, 2} {
			assert.Equal(t, f.groups, p[i].Groups)
			assert.Equal(t, led[other], p[i].Follow)
			assert.Equal(t, led[0], p[i].Lead)
			assert.True(t, p[i].Known)
			assert.Equal(t, rpc.Serving, p[i].Standing.State)
			assert.Equal(t, f.hosts[other].Incarnation(), p[i].Incarnation)
			assert.LessOrEqual(t, p[i].Silence, f.timing.Heartbeat)
		}
		assert.Equal(t, "n1", p[0].ID)
		assert.Equal(t, "n2", p[1].ID)

		before := f.hosts[1].Incarnation()
		require.NoError(t, drain(f.hosts[1]))
		f.kill(2)
		<-time.After(time.Second)
		p = f.peers(0)
		assert.Equal(t, rpc.Drained, p[0].Standing.State)
		assert.Greater(t, p[1].Silence, 900*time.Millisecond)
		f.kill(1)
		f.revive(1)
		f.revive(2)
		<-time.After(5 * f.timing.Detection())
		assert.Equal(t, rpc.Serving, f.peers(0)[0].Standing.State)
		assert.NotEqual(t, before, f.hosts[1].Incarnation())
	})
}

func TestAHostWithoutGroupsShowsNothing(t *testing.T) {
	h := elector.IsolatedHost(t, new(memberstate.MemStore))
	all, err := h.Nodes(context.Background())
	require.NoError(t, err)
	assert.Empty(t, all)
	stuck, err := h.StuckGroups(context.Background())
	require.NoError(t, err)
	assert.Empty(t, stuck)
	assert.Zero(t, h.Incarnation())
}

// Two processes without beats have different names, too, and a process keeps its own.
func TestAProcessWithoutBeatsHasAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []uint64
		for range 2 {
			h := elector.IsolatedHost(t, new(memberstate.MemStore))
			join(t, h, "g", "n0")
			require.NoError(t, h.StartAll())
			names = append(names, h.Incarnation())
			assert.NotZero(t, names[len(names)-1])
			assert.Less(t, names[len(names)-1], uint64(1)<<53, "programs read it in JSON, as a floating-point number")
			require.NoError(t, h.Close(endedContext()))
			join(t, h, "g", "n0")
			require.NoError(t, h.StartAll())
			assert.Equal(t, names[len(names)-1], h.Incarnation())
			require.NoError(t, h.Close(endedContext()))
		}
		assert.NotEqual(t, names[0], names[1])
	})
}

func TestAHostNamesTheGroupsThatAreStuck(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, drain(f.hosts[1]))
		require.NoError(t, drain(f.hosts[2]))
		require.Error(t, drain(f.hosts[0]))
		stuck, err := f.hosts[0].StuckGroups(context.Background())
		require.NoError(t, err)
		require.Len(t, stuck, f.groups)
		for _, g := range stuck {
			assert.Equal(t, protocol.StuckLeaving, g.Why)
			assert.GreaterOrEqual(t, g.Tries, 3)
		}
	})
}

// Callers that give up leave one request behind, and the next ones share it.
func TestASurveyThatNobodyMakesIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, entered := make(chan struct{}), make(chan struct{}, 1)
		c := goodConfig()
		c.Metrics = &elector.Metrics{Dropped: func(elector.Drop, int) {
			entered <- struct{}{}
			<-held
		}}
		el := startElector(t, c)
		synctest.Wait()
		el.Host().Receive(make([]rpc.Message, 1)) // of no group
		<-entered
		for range 3 {
			_, err := el.Host().Nodes(endedContext())
			require.ErrorIs(t, err, context.Canceled)
			_, err = el.Host().StuckGroups(endedContext())
			require.ErrorIs(t, err, context.Canceled)
			_, err = el.Host().BalancePlan(endedContext())
			require.ErrorIs(t, err, context.Canceled)
		}
		requests, _ := elector.Waiting(el)
		assert.Equal(t, 3, requests)
		patient := order(func(ctx context.Context) error {
			all, err := el.Host().Nodes(ctx)
			assert.Len(t, all, 2)
			return err
		})
		close(held)
		require.NoError(t, patient.answered(t))
		require.NoError(t, el.Stop(context.Background()))
	})
}

func TestProgressIsWatched(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		var states []rpc.NodeState
		seen := make(chan struct{})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			defer close(seen)
			for p := range f.hosts[0].WatchProgress(ctx) {
				if last := len(states) - 1; last < 0 || states[last] != p.Standing.State {
					states = append(states, p.Standing.State)
				}
			}
		}()
		synctest.Wait()
		require.NoError(t, drain(f.hosts[0]))
		synctest.Wait() // or it would skip a change
		require.NoError(t, f.hosts[0].Serve())
		synctest.Wait()
		cancel()
		<-seen
		assert.Equal(t, []rpc.NodeState{rpc.Serving, rpc.Draining, rpc.Drained, rpc.Serving}, states)
	})
}
