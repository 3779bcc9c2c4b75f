// How members begin and end: failing starts, stops before or during a start, orders to members that
// do not run, and Close.

package elector_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

func TestAGroupThatIsStoppedWhileItStartsEndsOnce(t *testing.T) {
	for name, outcome := range map[string]error{"it would have started": nil, "it cannot start": errors.New("no disk")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newSlowStore()
				host := elector.IsolatedHost(t, store)
				other, slow := join(t, host, "other", "n0"), join(t, host, "slow", "n0")
				require.NoError(t, other.Start())

				var started, stopped error
				var calls sync.WaitGroup
				calls.Go(func() { started = slow.Start() })
				<-store.loading
				calls.Go(func() { stopped = slow.Stop(t.Context()) })
				calls.Go(func() { _ = slow.Stop(endedContext()) })
				synctest.Wait()
				store.outcome <- outcome
				calls.Wait()
				<-slow.Done()
				assert.ErrorIs(t, started, outcome)
				assert.ErrorIs(t, stopped, outcome)
				assert.ErrorIs(t, slow.Err(), outcome)
				assert.Nil(t, host.Elector("slow"))

				<-time.After(time.Second)
				assert.Equal(t, memberstate.Leader, other.Status().Role, "the host goes on with its other group")
				again := join(t, host, "slow", "n0")
				require.NoError(t, again.Stop(t.Context()), "it is not started")
				require.NoError(t, host.Close(t.Context()))
			})
		})
	}
}

func TestAGroupThatDoesNotRunSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlowStore()
		host := elector.IsolatedHost(t, store)
		el, never := join(t, host, "slow", "n0", "n1"), join(t, host, "never", "n0", "n1")
		refused := func(el *elector.Elector, why string) {
			t.Helper()
			for name, err := range map[string]error{
				"Resign":             el.Resign(context.Background()),
				"TransferLeadership": el.TransferLeadership(context.Background(), "n1"),
				"Heard":              el.Heard(1, "n1"),
				"Electable":          el.Electable(false),
				"SetTiming":          el.SetTiming(slow()),
				"SetPreferred":       el.SetPreferred("n0"),
				"SetWeight":          el.SetWeight(2),
			} {
				require.ErrorIs(t, err, elector.ErrStopped, name)
				assert.ErrorContains(t, err, why, name)
			}
		}
		refused(el, `group "slow" has not been started: Run or Start comes first`)
		var calls sync.WaitGroup
		calls.Go(func() { assert.NoError(t, el.Start()) })
		<-store.loading
		refused(el, `group "slow" is still being started`)
		store.outcome <- nil
		calls.Wait()
		require.ErrorIs(t, el.Resign(context.Background()), elector.ErrNotLeader)
		err := el.Start()
		require.ErrorIs(t, err, elector.ErrStopped)
		assert.ErrorContains(t, err, `group "slow" has been started or stopped before`)
		require.NoError(t, host.Close(context.Background()))
		refused(el, `group "slow" has stopped`)
		refused(never, `group "never" has stopped`)
	})
}

func TestAGroupThatWasNotStartedSaysSoBesideAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		require.NoError(t, join(t, host, "other", "n0", "n1").Start())
		el := join(t, host, "g", "n0", "n1")
		require.ErrorContains(t, el.Resign(t.Context()), "has not been started")
		require.ErrorContains(t, el.TransferLeadership(t.Context(), ""), "has not been started")
		require.NoError(t, el.Stop(t.Context()))
		require.ErrorContains(t, el.Resign(t.Context()), "has stopped")
		require.NoError(t, host.Close(t.Context()))
	})
}

// The host's loop runs for another group, and would take a change that it then forgets. An operator who is told that a member is
// not to lead would be wrong.
func TestAGroupThatWasNotStartedRefusesChangesBesideAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		require.NoError(t, join(t, host, "other", "n0", "n1").Start())
		el := join(t, host, "g", "n0", "n1")
		for name, change := range map[string]func() error{
			"Electable":    func() error { return el.Electable(false) },
			"SetTiming":    func() error { return el.SetTiming(slow()) },
			"SetPreferred": func() error { return el.SetPreferred("n0") },
			"SetWeight":    func() error { return el.SetWeight(2) },
		} {
			err := change()
			require.ErrorIs(t, err, elector.ErrStopped, name)
			assert.ErrorContains(t, err, "has not been started", name)
		}
		require.NoError(t, host.Close(t.Context()))
	})
}

// Its handler still works, so it has not ended, but it takes no orders any more.
func TestAMemberThatHasFailedSaysThatItHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, held, store := singleConfig(), make(chan struct{}), new(memberstate.MemStore)
		c.Store, c.Handlers = store, []elector.RoleHandler{&holdingHandler{held}}
		el := startElector(t, c)
		store.Break(errors.New("disk on fire"))
		<-time.After(time.Second)
		require.ErrorIs(t, el.SetWeight(2), elector.ErrStopped)
		for name, err := range map[string]error{"Resign": el.Resign(t.Context()), "Electable": el.Electable(false)} {
			require.ErrorIs(t, err, elector.ErrStopped, name)
			assert.ErrorContains(t, err, "has stopped", name)
		}
		close(held)
		require.ErrorContains(t, el.Stop(t.Context()), "disk on fire")
	})
}

// A group that was not started has not loaded its vote yet.
func TestAGroupThatWasNotStartedDoesNotStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memberstate.MemStore)
		host := elector.IsolatedHost(t, store)
		other, waits := join(t, host, "other", "n0"), join(t, host, "waits", "n0")
		require.NoError(t, other.Start())
		waits.Campaign()
		<-time.After(time.Minute)
		assert.Zero(t, waits.Status().Revision)
		_, known, err := store.Load("waits")
		require.NoError(t, err)
		assert.False(t, known, "nothing was saved for it")
		require.NoError(t, host.Close(t.Context()))
	})
}

func TestAFirstStateThatCannotBeSavedIsAnError(t *testing.T) {
	burnt, store := errors.New("disk on fire"), new(memberstate.MemStore)
	store.Break(burnt)
	el := join(t, elector.IsolatedHost(t, store), "g", "n0")
	require.ErrorIs(t, el.Start(), burnt)
	require.ErrorIs(t, el.Err(), burnt)
	<-el.Done()
	assert.Nil(t, el.Host().Elector("g"))
}

// A member that the store knows needs no save to start, so a full disk does not prevent that.
func TestAKnownGroupIsNotSavedAtItsStart(t *testing.T) {
	store := new(memberstate.MemStore)
	for _, broken := range []error{nil, errors.New("disk full")} {
		store.Break(broken)
		el := join(t, elector.IsolatedHost(t, store), "g", "n0", "n1")
		require.NoError(t, el.Start())
		require.NoError(t, el.Stop(t.Context()))
	}
}

// Report does not wait for a loop that does not run.
func TestAMemberThatWasNotStartedReportsItsStatus(t *testing.T) {
	for name, others := range map[string]bool{"alone": false, "beside a running group": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := elector.IsolatedHost(t, new(memberstate.MemStore))
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

// growingLedger is a ledger whose last entry the test sets.
type growingLedger struct{ last atomic.Uint64 }

func (l *growingLedger) end(memberstate.Term) memberstate.Position {
	return memberstate.Position{Term: memberstate.Term(l.last.Load()), Index: l.last.Load()}
}

// withGrowingLedger plays a test with n0, which has no peers, in virtual time.
func withGrowingLedger(t *testing.T, play func(el *elector.Elector, ledger *growingLedger)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, ledger := goodConfig(), new(growingLedger)
		c.LedgerEnd = ledger.end
		play(startElector(t, c), ledger)
	})
}

// The term may be heard only once, in the first append of its leader.
func TestATermThatWasHeardOnceMayBeInTheLedger(t *testing.T) {
	withGrowingLedger(t, func(el *elector.Elector, ledger *growingLedger) {
		require.NoError(t, el.Heard(5, "n1"))
		ledger.last.Store(5)
		<-time.After(time.Minute) // n1 falls silent; before n0 stands, it calls LedgerEnd
		require.NoError(t, el.Err())
		require.False(t, el.Status().Stopped)
		require.NoError(t, el.Stop(context.Background()))
	})
}

func TestATermThatHeardHasRefusedMustNotBeInTheLedger(t *testing.T) {
	withGrowingLedger(t, func(el *elector.Elector, ledger *growingLedger) {
		require.ErrorIs(t, el.Heard(math.MaxUint64, "n1"), elector.ErrStaleTerm)
		ledger.last.Store(5)
		<-time.After(time.Minute) // before n0 stands, it calls LedgerEnd
		var bad *elector.LedgerError
		assert.ErrorAs(t, el.Stop(context.Background()), &bad)
	})
}

// A member that stops gives its lease back at once.
func TestStopDoesNotWaitForTheLease(t *testing.T) {
	withCluster(t, 1, func(c *config) { c.Leases = true }, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		cluster.pass(time.Second)
		require.True(t, holdsLease(leader.el))
		before := time.Now()
		require.NoError(t, cluster.stop(leader))
		assert.Zero(t, time.Since(before), "in virtual time")
	})
}

// A slow Lead of one group does not delay the end of another group.
func TestCloseEndsAllGroupsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		release, ended := make(chan struct{}), map[string]*atomic.Bool{}
		for _, group := range []string{"a", "b", "c"} {
			over := new(atomic.Bool)
			ended[group] = over
			c := elector.GroupOf(group, "n0")
			c.Lead = func(ctx context.Context, _ memberstate.Term) error {
				<-ctx.Done()
				over.Store(true)
				<-release
				return nil
			}
			el := elector.MustJoin(t, host, c)
			require.NoError(t, el.Start())
			for s := range el.Watch(t.Context()) {
				if s.Role == memberstate.Leader {
					break
				}
			}
		}
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- host.Close(context.Background()) }()
		<-time.After(time.Minute)
		for group, over := range ended {
			assert.True(t, over.Load(), group)
		}
		assert.Empty(t, closed)
		close(release)
		assert.NoError(t, <-closed)
	})
}

// An engine may keep its promise in memory only, and lose it when its process ends. So a member that
// starts calls LedgerEnd with the saved term first.
func TestAStartCallsLedgerEndWithTheSavedTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := goodConfig()
		require.NoError(t, c.Store.Save([]memberstate.Record{{Group: "g", Term: 5, Voters: digest(t, "n0", "n1", "n2")}}))
		var asked []memberstate.Term
		c.LedgerEnd = func(term memberstate.Term) memberstate.Position {
			asked = append(asked, term)
			return memberstate.Position{}
		}
		el := startElector(t, c)
		assert.Equal(t, []memberstate.Term{5}, asked)
		require.NoError(t, el.Stop(t.Context()))
	})
}

// The host runs for another group.
func TestAMemberThatWasNotStartedRefusesAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		require.NoError(t, join(t, host, "other", "n0").Start())
		err := join(t, host, "g", "n0", "n1").Heard(1, "n1")
		require.ErrorIs(t, err, elector.ErrStopped)
		assert.ErrorContains(t, err, "has not been started")
		require.NoError(t, host.Close(t.Context()))
	})
}

// Close returns the errors of all groups that have failed and are not over.
func TestCloseReturnsAllErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, held := new(memberstate.MemStore), make(chan struct{})
		host := elector.IsolatedHost(t, store)
		for _, group := range []string{"a", "b"} {
			c := elector.GroupOf(group, "n0")
			c.Handlers = []elector.RoleHandler{&holdingHandler{held}}
			require.NoError(t, elector.MustJoin(t, host, c).Start())
		}
		store.Break(errors.New("disk on fire"))
		<-time.After(time.Second)
		closed := order(host.Close)
		close(held)
		err := closed.answered(t)
		require.ErrorContains(t, err, `group "a": saving term 1: disk on fire`)
		require.ErrorContains(t, err, `group "b": saving term 1: disk on fire`)
	})
}
