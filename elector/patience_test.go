// A store that does not answer keeps nobody waiting for longer than a detection time.

package elector

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// hangingStore is a store whose calls hang while it is told to.
type hangingStore struct {
	memberstate.MemStore
	hangs    atomic.Bool
	recovers chan struct{}
}

func (s *hangingStore) wait() {
	if s.hangs.Load() {
		<-s.recovers
	}
}

func (s *hangingStore) Load(group string) (memberstate.Record, bool, error) {
	s.wait()
	return s.MemStore.Load(group)
}

func (s *hangingStore) Save(batch []memberstate.Record) error {
	s.wait()
	return s.MemStore.Save(batch)
}

// hangs is a host whose store hangs, with a group that takes part and another one whose start hangs. Detection times are long.
func hangs(t *testing.T) (h *Host, s *hangingStore, started chan error) {
	t.Helper()
	s = &hangingStore{recovers: make(chan struct{})}
	h = IsolatedHost(t, s)
	slow := GroupOf("slow", "n0", "n1")
	slow.Timing.Heartbeat = time.Second
	require.NoError(t, MustJoin(t, h, slow).Start())
	<-time.After(time.Second)
	s.hangs.Store(true)
	started = make(chan error, 1)
	el := MustJoin(t, h, GroupOf("starts", "n0", "n1"))
	go func() { started <- el.Start() }()
	synctest.Wait()
	return h, s, started
}

func TestNobodyWaitsForAStoreThatHangs(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	another := func(h *Host) *Elector { return MustJoin(t, h, GroupOf("another", "n0", "n1")) }
	for name, c := range map[string]struct {
		do       func(h *Host) error
		entering bool // somebody else waits for the store, and changes how the node begins
	}{
		"Start":               {do: func(h *Host) error { return another(h).Start() }},
		"StartAll":            {do: func(h *Host) error { another(h); return h.StartAll() }},
		"Run":                 {do: func(h *Host) error { return another(h).Run(ended) }},
		"KeepDrained":         {do: func(h *Host) error { return h.KeepDrained(true) }},
		"another call":        {func(h *Host) error { return h.KeepDrained(true) }, true},
		"Undrain":             {do: (*Host).Undrain},
		"Serve":               {(*Host).Serve, true},
		"Stop":                {do: func(h *Host) error { return h.Elector("starts").Stop(ended) }},
		"Close":               {do: func(h *Host) error { return h.Close(ended) }},
		"Close in a drain":    {do: func(h *Host) error { _ = h.Drain(ended); return h.Close(ended) }},
		"Close beside a call": {func(h *Host) error { return h.Close(ended) }, true},
		"the end of Close":    {func(h *Host) error { return h.standAsBefore(true) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, s, started := hangs(t)
				if c.entering {
					go func() { _ = h.KeepDrained(true) }()
					synctest.Wait()
				}
				detection, began := h.patience(), time.Now()
				require.ErrorIs(t, c.do(h), ErrStoreSilent)
				assert.LessOrEqual(t, time.Since(began), detection)
				s.hangs.Store(false)
				close(s.recovers)
				synctest.Wait()
				assert.Len(t, started, 1) // with an error, if it was stopped before
				require.NoError(t, h.Close(context.Background()))
				assert.Empty(t, h.Electors())
				assert.Empty(t, h.entering)
			})
		})
	}
}

// Of a store that answers now and then nobody despairs, because it may be a slow disk.
func TestAStoreThatIsSlowIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, started := hangs(t)
		over := make(chan error, 1)
		go func() { over <- h.KeepDrained(true) }()
		for range 3 {
			<-time.After(h.patience() / 2)
			other := make(chan struct{})
			s.hangs.Store(false)
			go func() { defer close(other); _, _, _ = h.store.Load("other") }()
			<-other
			s.hangs.Store(true)
			assert.Empty(t, over)
		}
		s.hangs.Store(false)
		close(s.recovers)
		require.NoError(t, <-over)
		require.NoError(t, <-started)
		assert.True(t, h.Progress().Kept)
		require.NoError(t, h.Close(context.Background()))
	})
}

// A start goes on when nobody waits for it any more.
func TestAGroupTakesPartWhenItsStoreAnswersTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, started := hangs(t)
		require.ErrorIs(t, <-started, ErrStoreSilent)
		s.hangs.Store(false)
		close(s.recovers)
		synctest.Wait()
		require.NoError(t, h.Elector("starts").SetPreferred("n1"))
		require.NoError(t, h.Close(context.Background()))
	})
}

// What the store does after all counts.
func TestANodeIsKeptDrainedWhenItsStoreAnswersTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, started := hangs(t)
		require.ErrorIs(t, h.KeepDrained(true), ErrStoreSilent)
		assert.False(t, h.Progress().Kept)
		require.ErrorIs(t, <-started, ErrStoreSilent)
		assert.False(t, h.Elector("starts").Status().Stopped)
		s.hangs.Store(false)
		close(s.recovers)
		synctest.Wait()
		assert.True(t, h.Progress().Kept)
		require.NoError(t, h.Close(context.Background()))
	})
}

// Whatever is over is not waited for, however long the store has been silent.
func TestAGroupThatWasNotStartedStopsWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, started := hangs(t)
		require.ErrorIs(t, <-started, ErrStoreSilent)
		for range 20 {
			require.NoError(t, MustJoin(t, h, GroupOf("idle", "n0", "n1")).Stop(context.Background()))
		}
		s.hangs.Store(false)
		close(s.recovers)
		require.NoError(t, h.Close(context.Background()))
	})
}
