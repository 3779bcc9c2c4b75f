package mem_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
)

// All present listeners are woken, and those that have ended are not.
func TestAnEndedListenerIsNotWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, heard := new(mem.Store), map[string]string{}
		var listening sync.WaitGroup
		listen := func(who string) context.CancelFunc {
			ctx, cancel := context.WithCancel(t.Context())
			listening.Go(func() {
				assert.ErrorIs(t, s.Listen(ctx, func(name string) { heard[who] += name }), context.Canceled)
			})
			synctest.Wait()
			return cancel
		}
		require.NoError(t, s.Wake(t.Context(), "nobody listens"))
		first, second := listen("first"), listen("second")
		require.NoError(t, s.Wake(t.Context(), "a"))
		first()
		synctest.Wait()
		require.NoError(t, s.Wake(t.Context(), "b"))
		assert.Equal(t, map[string]string{"first": "a", "second": "ab"}, heard)
		second()
		listening.Wait()
	})
}

// A listener may free what it uses to listen once Listen has returned, even if that is while others are woken.
func TestNobodyIsWokenWhoseListenHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const listeners = 3
		s, listening, woken := new(mem.Store), sync.WaitGroup{}, 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range listeners {
			listening.Go(func() {
				var returned atomic.Bool
				assert.ErrorIs(t, s.Listen(ctx, func(string) {
					assert.False(t, returned.Load())
					woken++
					cancel()
					for range 1000 { // time for the others to return
						runtime.Gosched()
					}
				}), context.Canceled)
				returned.Store(true)
			})
		}
		synctest.Wait()
		require.NoError(t, s.Wake(t.Context(), "g"))
		listening.Wait()
		assert.Equal(t, listeners, woken)
	})
}

// A listener may call the store: a keeper that is woken logs, and a logger may do anything.
func TestAListenerMayCallTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, called := new(mem.Store), 0
		ctx, cancel := context.WithCancel(t.Context())
		var listening sync.WaitGroup
		listening.Go(func() {
			assert.ErrorIs(t, s.Listen(ctx, func(string) {
				_, err := s.Names(ctx)
				assert.NoError(t, err)
				cancel()
				assert.ErrorIs(t, s.Listen(ctx, nil), context.Canceled)
				called++
			}), context.Canceled)
		})
		synctest.Wait()
		require.NoError(t, s.Wake(ctx, "g"))
		listening.Wait()
		assert.Equal(t, 1, called)
	})
}

// The clock may be stepped while candidates use the store, which the race detector checks.
func TestTheClockIsSteppedBesideOtherCalls(t *testing.T) {
	s, calls := new(mem.Store), sync.WaitGroup{}
	for range 2 {
		calls.Go(func() { s.Step(time.Second) })
	}
	_, err := s.Read(t.Context(), []string{"g"})
	require.NoError(t, err)
	calls.Wait()
}

// Candidates are woken while others begin and end to listen, which the race detector checks.
func TestListenersComeAndGoBesideWakes(t *testing.T) {
	s, calls := new(mem.Store), sync.WaitGroup{}
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		calls.Go(func() { assert.ErrorIs(t, s.Listen(ctx, func(string) {}), context.Canceled) })
		calls.Go(func() { assert.NoError(t, s.Wake(ctx, "g")) })
	}
	cancel()
	calls.Wait()
}

// A method whose context has ended does nothing, and leaves nothing locked.
func TestAnEndedContextStopsEveryMethod(t *testing.T) {
	s := new(mem.Store)
	claim := lease.Claim{Name: "g", Holder: "a#1", TTL: time.Hour}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Acquire(ended, claim)
	require.ErrorIs(t, err, context.Canceled)
	names, err := s.Names(t.Context())
	require.NoError(t, err)
	require.Empty(t, names)
	won, err := s.Acquire(t.Context(), claim)
	require.NoError(t, err)
	require.True(t, won)
	held := lease.Held{Name: "g", Term: 1}
	for name, call := range map[string]func() error{
		"renew":   func() error { _, err := s.Renew(ended, "a#1", []lease.Held{held}); return err },
		"release": func() error { return s.Release(ended, "a#1", held) },
		"force":   func() error { return s.Force(ended, "g", "b") },
		"read":    func() error { _, err := s.Read(ended, []string{"g"}); return err },
		"names":   func() error { _, err := s.Names(ended); return err },
	} {
		assert.ErrorIs(t, call(), context.Canceled, name)
	}
	found, err := s.Read(t.Context(), []string{"g", "h"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, "a#1", found[0].Holder)
	assert.EqualValues(t, 1, found[0].Term)
	assert.Zero(t, found[0].Renewals)
	names, err = s.Names(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"g"}, names)
}

// A store uses the given clock, or its own; Step moves both.
func TestAStoreUsesTheGivenClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Duration(0)
		for name, c := range map[string]struct {
			store *mem.Store
			pass  func(time.Duration)
		}{
			"given": {&mem.Store{Clock: func() time.Duration { return now }}, func(d time.Duration) { now += d }},
			"own":   {new(mem.Store), func(d time.Duration) { <-time.After(d) }},
		} {
			_, err := c.store.Acquire(t.Context(), lease.Claim{Name: "g", Holder: "a#1", TTL: time.Minute})
			require.NoError(t, err)
			left := func() time.Duration {
				found, err := c.store.Read(t.Context(), []string{"g"})
				require.NoError(t, err)
				return found[0].Left
			}
			assert.Equal(t, time.Minute, left(), name)
			c.pass(10 * time.Second)
			assert.Equal(t, 50*time.Second, left(), name)
			c.store.Step(-5 * time.Second)
			assert.Equal(t, 55*time.Second, left(), name)
			c.store.Step(time.Minute)
			assert.Equal(t, -5*time.Second, left(), name)
		}
	})
}
