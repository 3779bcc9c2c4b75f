// Renewals that are slow, hang, or overlap.

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

// sluggish is a store with slow renewals.
type sluggish struct {
	lease.Store
	takes time.Duration
}

func (s sluggish) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	kept, err := s.Store.Renew(ctx, holder, held)
	<-time.After(s.takes)
	return kept, err
}

// Repeated renewals of a locked lease do not delay those of the others, however slow the database
// is.
func TestALockedRecordDelaysNoOther(t *testing.T) {
	for _, takes := range []time.Duration{1200 * time.Millisecond, timing.Timeout - time.Millisecond} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newLocking()
				all := keep(t, sluggish{s, takes})
				<-time.After(10 * time.Second)
				s.lock("b")
				for range 600 {
					<-time.After(100 * time.Millisecond)
					for _, name := range []string{"a", "c"} {
						require.Equal(t, memberstate.Leader, all[name].Status().Role, name)
						require.EqualValues(t, 1, all[name].Status().Term)
					}
				}
				assert.Greater(t, s.asked("b"), 1)
			})
		})
	}
}

// hanging is a store that, while it hangs, does not answer calls that renew a certain lease.
type hanging struct {
	*mem.Store
	mu    sync.Mutex
	lease string
	hung  map[string]bool // all leases of such calls
}

func (s *hanging) hang(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease = name
}

func (s *hanging) hangs(held []lease.Held) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range held {
		if h.Name == s.lease {
			for _, h := range held {
				s.hung[h.Name] = true
			}
			return true
		}
	}
	return false
}

func (s *hanging) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	if s.hangs(held) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Renew(ctx, holder, held)
}

// Of very many leases only those are lost that are in the call that hangs, and these are the same
// each time.
func TestACallThatHangsCostsItsOwnLeasesAlone(t *testing.T) {
	const leases, most = 10_100, 10_000
	synctest.Test(t, func(t *testing.T) {
		s := &hanging{Store: new(mem.Store), hung: map[string]bool{}}
		_, all := keepMany(t, lease.KeeperConfig{Self: "n", Store: s, Timing: timing, Logger: silence}, leases)
		<-time.After(2 * timing.Poll)
		s.hang("0")
		<-time.After(2 * (timing.TTL + timing.Timeout))
		s.mu.Lock()
		defer s.mu.Unlock()
		assert.LessOrEqual(t, len(s.hung), most)
		for i, el := range all {
			if !s.hung[fmt.Sprint(i)] {
				require.Equal(t, memberstate.Leader, el.Status().Role, i)
				require.EqualValues(t, 1, el.Status().Term, i)
			}
		}
	})
}

// The answer to a renewal extends the lease from when that renewal was sent, not from when a
// later one was sent that did not get through.
func TestALateAnswerCountsForItsOwnRenewal(t *testing.T) {
	patient := timing
	patient.Timeout = timing.TTL
	play(t, func(s *stage) {
		first := s.enter("first", func(c *settings) { c.Timing = patient })
		s.lead(first)
		second := s.enter("second", nil)
		renewed := false
		first.conn.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			if op != "renew" || renewed {
				<-ctx.Done()
				return ctx.Err()
			}
			renewed = true
			err := do(ctx)
			<-time.After(3 * timing.Renew / 2)
			return err
		})
		s.lead(second) // begin fails the test if the first one is still in office
		assert.True(t, renewed)
		assert.False(t, first.leads())
	})
}

// What Lease shows must end no later than the lease in the database, which is counted from when the renewal was
// sent at the earliest. Lead is told to return by another clock.
func TestTheLeaseThatIsShownCountsFromTheSending(t *testing.T) {
	const late = 100 * time.Millisecond
	play(t, func(s *stage) {
		first := s.enter("first", nil)
		s.lead(first)
		sent := make(chan time.Time, 1)
		first.conn.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			if op != "renew" {
				return do(ctx)
			}
			at := time.Now()
			err := do(ctx)
			<-time.After(late)
			select {
			case sent <- at:
			default:
			}
			return err
		})
		at := <-sent
		synctest.Wait()
		_, until, held := first.Lease()
		assert.True(t, held)
		assert.False(t, until.After(at.Add(timing.TTL)), "it is shown for %v", until.Sub(at))
	})
}
