// Nodes that stay drained over restarts.

package elector_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// restart replaces the process of n0, and looks at the new one as soon as it is there.
func (f *fleet) restart() elector.Progress {
	f.t.Helper()
	f.kill(0)
	f.revive(0)
	return f.hosts[0].Progress()
}

// What a node without beats says in its answers counts as much as what others say in beats.
func TestANodeThatIsKeptDrainedBeginsDrained(t *testing.T) {
	for _, alone := range []bool{false, true} {
		withFleet(t, func(_ int, c *elector.HostConfig) { c.NoNodeBeats = alone }, func(f *fleet) {
			require.NoError(t, f.hosts[0].KeepDrained(true))
			assert.True(t, f.hosts[0].Progress().Kept)
			assert.Equal(t, rpc.Serving, f.hosts[0].Progress().Standing.State, "it changes nothing for this process")
			require.NoError(t, drain(f.hosts[0]))
			assert.True(t, f.hosts[0].Progress().Kept)
			for range 2 {
				p := f.restart()
				assert.NotEqual(t, rpc.Serving, p.Standing.State, "from its first moment")
				assert.True(t, p.Kept)
				<-time.After(2 * f.timing.Detection())
				assert.Equal(t, rpc.Drained, f.hosts[0].Progress().Standing.State)
				require.NoError(t, drain(f.hosts[1]))
				<-time.After(f.timing.Detection())
				assert.Equal(t, map[int]int{2: f.groups}, f.ledBy(), "nobody hands over to it")
				require.NoError(t, f.hosts[1].Serve())
				<-time.After(f.timing.Detection())
			}
			require.NoError(t, f.hosts[0].Undrain())
			assert.Equal(t, rpc.Serving, f.hosts[0].Progress().Standing.State)
			assert.False(t, f.hosts[0].Progress().Kept)
			p := f.restart()
			assert.Equal(t, rpc.Serving, p.Standing.State)
			assert.False(t, p.Kept)
			<-time.After(2 * f.timing.Detection())
			require.NoError(t, drain(f.hosts[1]))
			require.NoError(t, drain(f.hosts[2]))
			<-time.After(f.timing.Detection())
			assert.Equal(t, map[int]int{0: f.groups}, f.ledBy())
		})
	}
}

// Its first beats say so, so nobody takes it for serving meanwhile.
func TestTheOthersKnowThatANewProcessIsKeptDrained(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, f.hosts[0].KeepDrained(true))
		f.restart()
		<-time.After(2 * f.timing.Detection())
		for _, node := range []int{1, 2} {
			assert.True(t, f.peers(node)[0].Known)
			assert.Equal(t, rpc.Drained, f.peers(node)[0].Standing.State)
		}
	})
}

func TestServeEndsADrainThatIsKeptUntilTheNextProcess(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, f.hosts[0].KeepDrained(true))
		f.restart()
		require.NoError(t, f.hosts[0].Serve())
		assert.Equal(t, rpc.Serving, f.hosts[0].Progress().Standing.State)
		assert.True(t, f.hosts[0].Progress().Kept)
		assert.NotEqual(t, rpc.Serving, f.restart().Standing.State)
	})
}

// An engine that is ready does not know what its operator wants.
func TestTheWordOfAnEngineThatIsReadyDoesNotEndADrainThatIsKept(t *testing.T) {
	withFleet(t, func(node int, c *elector.HostConfig) { c.Hold = node == 0 }, func(f *fleet) {
		require.NoError(t, f.hosts[0].KeepDrained(true))
		assert.Equal(t, rpc.Starting, f.hosts[0].Progress().Standing.State)
		require.NoError(t, f.hosts[0].Serve())
		<-time.After(f.timing.Detection())
		assert.Equal(t, rpc.Drained, f.hosts[0].Progress().Standing.State)
		require.NoError(t, f.hosts[0].Serve())
		assert.Equal(t, rpc.Serving, f.hosts[0].Progress().Standing.State, "the next one does")

		p := f.restart()
		assert.Equal(t, rpc.Starting, p.Standing.State)
		assert.True(t, p.Kept)
		require.NoError(t, drain(f.hosts[0]), "an order that it has already")
		require.NoError(t, f.hosts[0].Serve())
		<-time.After(f.timing.Detection())
		assert.Equal(t, rpc.Drained, f.hosts[0].Progress().Standing.State)
		require.NoError(t, f.hosts[0].Undrain())
		assert.Equal(t, rpc.Serving, f.hosts[0].Progress().Standing.State)
	})
}

// A call that was refused has told the node nothing: the engine's first word is still to come, and is no operator's.
func TestARefusedWordOfAnEngineDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := elector.IsolatedNode(new(memberstate.MemStore))
		c.Hold = true
		require.NoError(t, memberstate.KeepDrained(c.Store, true))
		h := elector.MustHost(t, c)
		require.ErrorIs(t, h.Serve(), elector.ErrStopped)
		require.NoError(t, join(t, h, "g", "n0", "n1").Start())
		require.NoError(t, h.Serve())
		assert.NotEqual(t, rpc.Serving, h.Progress().Standing.State, "it is kept drained")
		require.NoError(t, h.Close(endedContext()))
	})
}

// A start that could not read the record does not know whether the node is kept drained, so the next one asks again.
func TestAStartAsksAgainWhetherTheNodeIsKeptDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(unreadable)
		require.NoError(t, memberstate.KeepDrained(&store.MemStore, true))
		h := elector.MustHost(t, elector.IsolatedNode(store))
		require.ErrorIs(t, join(t, h, "g", "n0").Start(), assert.AnError)
		store.mended = true
		require.NoError(t, join(t, h, "g", "n0").Start())
		assert.True(t, h.Progress().Kept)
		assert.NotEqual(t, rpc.Serving, h.Progress().Standing.State)
		require.NoError(t, h.Close(endedContext()))
	})
}

// Only the engine knows whether it can lead.
func TestUndrainDoesNotMakeANodeServeThatStarts(t *testing.T) {
	withFleet(t, func(node int, c *elector.HostConfig) { c.Hold = node == 0 }, func(f *fleet) {
		require.NoError(t, f.hosts[0].KeepDrained(true))
		require.NoError(t, f.hosts[0].Undrain())
		assert.Equal(t, rpc.Starting, f.hosts[0].Progress().Standing.State)
		assert.False(t, f.hosts[0].Progress().Kept)
		require.NoError(t, drain(f.hosts[0]))
		require.NoError(t, f.hosts[0].Undrain())
		<-time.After(f.timing.Detection())
		assert.Equal(t, rpc.Drained, f.hosts[0].Progress().Standing.State)
		require.NoError(t, f.hosts[0].Serve())
		assert.Equal(t, rpc.Serving, f.hosts[0].Progress().Standing.State)
	})
}

// A store may be opened after its host was made, as that of "hustings serve --new=if-missing".
func TestAHostDoesNotUseItsStoreBeforeItsFirstGroup(t *testing.T) {
	h := elector.MustHost(t, elector.IsolatedNode(new(unreadable)))
	require.ErrorIs(t, h.KeepDrained(true), elector.ErrStopped)
	require.ErrorIs(t, h.Undrain(), elector.ErrStopped)
	require.ErrorIs(t, h.Serve(), elector.ErrStopped)
	assert.False(t, h.Progress().Kept)
}

// Its groups have ended, and its store is the same.
func TestANodeWithoutGroupsIsKeptDrainedNoMore(t *testing.T) {
	store := new(memberstate.MemStore)
	require.NoError(t, memberstate.KeepDrained(store, true))
	h := elector.IsolatedHost(t, store)
	require.NoError(t, join(t, h, "g", "n0").Start())
	require.NoError(t, h.Close(t.Context()))
	assert.True(t, h.Progress().Kept)
	require.ErrorIs(t, h.Undrain(), elector.ErrStopped)
	assert.False(t, h.Progress().Kept)
	kept, err := memberstate.IsKeptDrained(store)
	require.NoError(t, err)
	assert.False(t, kept)
}

// It is the same process, which was ordered to serve.
func TestAHostWhoseGroupsJoinAgainIsNotKeptDrainedAnew(t *testing.T) {
	store := new(memberstate.MemStore)
	require.NoError(t, memberstate.KeepDrained(store, true))
	h := elector.IsolatedHost(t, store)
	for i, order := range []func() error{h.Serve, func() error { return nil }} {
		require.NoError(t, join(t, h, "g", "n0", "n1").Start())
		require.NoError(t, order())
		assert.Equal(t, rpc.Serving, h.Progress().Standing.State, i)
		assert.True(t, h.Progress().Kept)
		require.NoError(t, h.Close(endedContext()))
	}
}

func TestANodeThatIsKeptDrainedLeadsWhatNobodyElseCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memberstate.MemStore)
		require.NoError(t, memberstate.KeepDrained(store, true))
		h := elector.IsolatedHost(t, store)
		el := join(t, h, "g", "n0")
		require.NoError(t, el.Start())
		<-time.After(10 * time.Second)
		assert.Equal(t, memberstate.Leader, el.Status().Role)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A start and an order change the same record of the store, and neither may undo the other.
func TestANodeIsKeptDrainedWhileItsStartIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &gatedStore{gate: make(chan error)}
		config := elector.IsolatedNode(store)
		config.NoNodeBeats = false
		h := elector.MustHost(t, config)
		el := join(t, h, "g", "n0")
		results := make(chan error, 2)
		go func() { results <- el.Start() }()
		store.gate <- nil // the first record of the group
		synctest.Wait()
		go func() { results <- h.KeepDrained(true) }()
		synctest.Wait()
		for range 2 {
			store.gate <- nil
			require.NoError(t, <-results)
		}
		close(store.gate)
		r, _, err := store.Load("")
		require.NoError(t, err)
		assert.True(t, r.KeepsDrained())
		assert.NotZero(t, r.Term)
		require.NoError(t, h.Close(t.Context()))
	})
}

// unreadable is a store whose record of the node cannot be read until it is mended.
type unreadable struct {
	memberstate.MemStore
	mended bool
}

func (s *unreadable) Load(group string) (memberstate.Record, bool, error) {
	if group == "" && !s.mended {
		return memberstate.Record{}, false, assert.AnError
	}
	return s.MemStore.Load(group)
}

// A store that has failed in a save must not be asked again, and what it remembers is not known.
func TestAStoreThatFailsSaysSo(t *testing.T) {
	store := new(memberstate.MemStore)
	h := elector.IsolatedHost(t, store)
	require.NoError(t, join(t, h, "g", "n0", "n1").Start())
	require.Error(t, h.Drain(endedContext()))
	store.Break(assert.AnError)
	for _, order := range []func() error{func() error { return h.KeepDrained(true) }, h.Undrain} {
		err := order()
		require.ErrorIs(t, err, assert.AnError)
		require.EqualError(t, err, fmt.Sprintf(`elector: saving whether node "n0" stays drained over restarts: %v`, assert.AnError))
		assert.False(t, h.Progress().Kept)
		assert.NotEqual(t, rpc.Serving, h.Progress().Standing.State)
		store.Crash(func(memberstate.Record) bool { return true }) // it would take the next save
	}
	require.NoError(t, h.Close(endedContext()))

	h = elector.MustHost(t, elector.IsolatedNode(new(unreadable)))
	err := join(t, h, "g", "n0").Start()
	require.ErrorIs(t, err, assert.AnError)
	require.ErrorContains(t, err, `reading whether node "n0" stays drained`)
	require.NoError(t, h.Close(t.Context()))
}
