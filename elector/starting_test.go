// What a member does before it takes part, and what it is asked before that.

package elector_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// brokenStore fails to save from the first time on.
type brokenStore struct {
	memberstate.MemStore
	err error
}

func (s *brokenStore) Save([]memberstate.Record) error { return s.err }

// A member whose first state cannot be saved does not take part.
func TestAFirstStateThatCannotBeSavedIsAnError(t *testing.T) {
	burnt := errors.New("disk on fire")
	el := join(t, loner(t, &brokenStore{err: burnt}), "g", "n0")
	require.ErrorIs(t, el.Start(), burnt)
	require.ErrorIs(t, el.Err(), burnt)
	<-el.Done()
	assert.Nil(t, el.Host().Elector("g"))
}

// A member that was not started has a Status, and Report waits for nobody to say so.
func TestAMemberThatWasNotStartedReportsItsStatus(t *testing.T) {
	for name, others := range map[string]bool{"alone": false, "beside one that runs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := loner(t, new(memberstate.MemStore))
				if others {
					require.NoError(t, join(t, host, "other", "n0").Start())
				}
				el := join(t, host, "g", "n0")
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				report, err := el.Report(ctx)
				require.NoError(t, err)
				assert.Equal(t, elector.Report{Status: el.Status()}, report)
				require.NoError(t, host.Close(t.Context()))
			})
		})
	}
}

// What Heard has announced, the ledger may hold from then on: also if it was heard once, as
// the first word of a new term.
func TestATermThatWasHeardOnceMayBeInTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := goodConfig()
		var last atomic.Uint64
		c.LedgerEnd = func(memberstate.Term) memberstate.Position {
			return memberstate.Position{Term: memberstate.Term(last.Load()), Index: last.Load()}
		}
		el, err := elector.New(c.HostConfig, c.GroupConfig)
		require.NoError(t, err)
		require.NoError(t, el.Start())
		require.NoError(t, el.Heard(5, "n1"))
		last.Store(5)
		<-time.After(time.Minute) // n1 falls silent, and n0 asks its ledger to stand
		require.NoError(t, el.Err())
		require.False(t, el.Status().Stopped)
		require.NoError(t, el.Stop(t.Context()))
	})
}

// What Heard has refused was not announced: a ledger that ends in such a term is not to be trusted.
func TestATermThatWasRefusedIsNotInTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := goodConfig()
		var last atomic.Uint64
		c.LedgerEnd = func(memberstate.Term) memberstate.Position {
			return memberstate.Position{Term: memberstate.Term(last.Load()), Index: last.Load()}
		}
		el, err := elector.New(c.HostConfig, c.GroupConfig)
		require.NoError(t, err)
		require.NoError(t, el.Start())
		require.ErrorIs(t, el.Heard(math.MaxUint64, "n1"), elector.ErrStaleTerm)
		last.Store(5)
		<-time.After(time.Minute) // it asks its ledger to stand
		var bad *elector.LedgerError
		assert.ErrorAs(t, el.Stop(t.Context()), &bad)
	})
}

// A lease is over at once when its member stops: nothing waits for it to run out.
func TestNobodyWaitsForTheLeaseOfAMemberThatStops(t *testing.T) {
	inTown(t, 1, func(c *config) { c.Leases = true }, func(town *town) {
		leader := town.leader()
		town.pass(time.Second)
		_, _, held := leader.el.Lease()
		require.True(t, held)
		before := time.Now()
		require.NoError(t, town.end(leader))
		assert.Zero(t, time.Since(before), "in virtual time")
	})
}
