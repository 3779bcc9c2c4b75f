package lease_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

// locking is a store with one record that another client keeps locked.
type locking struct {
	*mem.Store
	mu      sync.Mutex
	locked  string
	renewed map[string]int // how often its renewal was requested
}

func newLocking() *locking { return &locking{Store: new(mem.Store), renewed: map[string]int{}} }

// lock locks a record.
func (s *locking) lock(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked = name
	clear(s.renewed)
}

func (s *locking) asked(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewed[name]
}

func (s *locking) isLocked(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewed[name]++
	return name == s.locked
}

func (s *locking) Acquire(ctx context.Context, c lease.Claim) (bool, error) {
	if s.isLocked(c.Name) {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return s.Store.Acquire(ctx, c)
}

func (s *locking) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	var free []lease.Held
	var err error
	for _, h := range held {
		if s.isLocked(h.Name) {
			err = &lease.LockedError{Names: []string{h.Name}}
		} else {
			free = append(free, h)
		}
	}
	kept, _ := s.Store.Renew(ctx, holder, free)
	return kept, err
}

// keep runs a keeper with the leases a, b and c.
func keep(t *testing.T, s lease.Store) (all map[string]*lease.Elector) {
	t.Helper()
	k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: s, Timing: timing, Logger: silence})
	require.NoError(t, err)
	all = map[string]*lease.Elector{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	for _, name := range []string{"a", "b", "c"} {
		el, err := k.Join(lease.GroupConfig{Name: name})
		require.NoError(t, err)
		all[name] = el
		go func() { ended <- el.Run(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for range all {
			require.NoError(t, <-ended)
		}
	})
	return all
}

// The renewal of a locked record is repeated more often, and its lease expires in the end. The
// other leases are kept, and renewed at the usual rate.
func TestALockedRecordCostsItsLeaseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLocking()
		all := keep(t, s)
		<-time.After(10 * time.Second)
		s.lock("b")
		<-time.After(timing.TTL - timing.Renew - timing.DriftMargin)
		assert.Equal(t, memberstate.Leader, all["b"].Status().Role, "a locked lease must not be taken for lost")
		<-time.After(timing.Renew)
		assert.NotEqual(t, memberstate.Leader, all["b"].Status().Role)
		assert.GreaterOrEqual(t, s.asked("b"), 2*s.asked("a"))
		<-time.After(time.Minute)
		for _, name := range []string{"a", "c"} {
			assert.Equal(t, memberstate.Leader, all[name].Status().Role)
			assert.EqualValues(t, 1, all[name].Status().Term)
		}
	})
}

// A claim that has to wait does not delay the polls of other leases.
func TestAClaimThatWaitsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLocking()
		s.lock("b")
		var others []lease.Held
		for _, name := range []string{"a", "c"} {
			won, err := s.Acquire(t.Context(), lease.Claim{Name: name, Holder: "other#1", TTL: time.Hour})
			require.NoError(t, err)
			require.True(t, won)
			others = append(others, lease.Held{Name: name, Term: 1})
		}
		all := keep(t, s)
		<-time.After(time.Minute)
		for _, held := range others {
			require.NoError(t, s.Release(t.Context(), "other#1", held))
			<-time.After(timing.Poll + time.Millisecond)
			assert.Equal(t, memberstate.Leader, all[held.Name].Status().Role, held.Name)
		}
	})
}

// Two keepers of many leases are never in the same office, even on a very bad network.
func TestKeepersOfManyLeasesShareNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const leases = 5
		store := new(mem.Store)
		inside, offices := map[string]int{}, 0
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		office := make(chan struct{}, 1)
		for i := range 3 {
			c := &conn{Store: store, counts: map[string]int{}}
			c.set(storm(uint64(i)))
			k, err := lease.NewKeeper(lease.KeeperConfig{Self: fmt.Sprint(i), Store: c, Timing: timing, Logger: silence})
			require.NoError(t, err)
			for j := range leases {
				name := fmt.Sprint(j)
				el, err := k.Join(lease.GroupConfig{Name: name, Lead: func(ctx context.Context, _ memberstate.Term) error {
					office <- struct{}{}
					inside[name]++
					offices++
					assert.Equal(t, 1, inside[name])
					<-office
					<-ctx.Done()
					office <- struct{}{}
					inside[name]--
					<-office
					return nil
				}})
				require.NoError(t, err)
				go func() { ended <- el.Run(ctx) }()
			}
		}
		<-time.After(time.Hour)
		cancel()
		for range 3 * leases {
			require.NoError(t, <-ended)
		}
		assert.Greater(t, offices, 50)
		<-time.After(2 * timing.TTL) // until all messages have arrived
	})
}
