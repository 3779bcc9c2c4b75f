// Known faults of other elections by a lease, tested with every kind of database.

package storetest

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// pglock has this fault: the connection stalls, and the old leader's context lives on after
// another has taken over.
func TestAStalledConnectionProlongsNoOffice(t *testing.T) {
	contend(t, func(r *race) {
		store, line := r.server.silent(r.t)
		r.enter("first", store, nil)
		first := r.next()
		r.enter("second", r.direct(), nil)
		line.Hold()
		second := r.next()
		assert.Error(r.t, first.ctx.Err(), "the old leader's context lives")
		assert.Greater(r.t, second.term, first.term)
		line.Resume()
	})
}

// The answer to a renewal is late by nearly a TTL, and then the connection is cut. A leader that
// counted from the answer would still lead long after another one began.
func TestALateAnswerProlongsNoOffice(t *testing.T) {
	contend(t, func(r *race) {
		patient := func(c *settings) {
			c.Timing.Timeout = 2 * c.Timing.TTL
			c.Timing.Renew, c.Timing.DriftMargin = c.Timing.TTL/40, c.Timing.TTL/20
		}
		silent, line := r.server.silent(r.t)
		store := &late{Store: silent, renewed: make(chan struct{}), answer: make(chan struct{})}
		r.enter("first", store, patient)
		first := r.next()
		r.enter("second", r.direct(), patient)
		<-store.renewed
		<-time.After(unhurried.TTL * 8 / 10)
		line.Hold()
		assert.NoError(r.t, first.ctx.Err(), "the answer was to come in time")
		store.answer <- struct{}{}
		r.next()
		assert.Error(r.t, first.ctx.Err(), "the old leader's context lives")
		line.Resume()
	})
}

// late is a store that delays the answer to its first renewal.
type late struct {
	lease.Store
	renewed, answer chan struct{}
	sent            int
}

func (s *late) Renew(ctx context.Context, holder string, held []lease.Held) (kept []string, err error) {
	kept, err = s.Store.Renew(ctx, holder, held)
	if s.sent++; s.sent == 1 {
		s.renewed <- struct{}{}
		<-s.answer
	}
	return kept, err
}

// Host, port and process id may recur. A restarted process is another candidate, even with the
// same name, and waits like any other.
func TestARestartedProcessInheritsNothing(t *testing.T) {
	contend(t, func(r *race) {
		store, line := r.server.silent(r.t)
		r.enter("same", store, nil)
		first := r.next()
		line.Hold()
		r.enter("same", r.direct(), nil)
		second := r.next()
		assert.Error(r.t, first.ctx.Err(), "the lease of the earlier process has not expired")
		assert.Equal(r.t, first.term+1, second.term)
		line.Resume()
	})
}

// An office that cannot be confirmed ends, and when the database is back there is a new one. In
// an election with a scheduled task that dies by an exception the node would believe in its
// office for ever.
func TestFailuresEndAnOfficeAndNotTheElector(t *testing.T) {
	contend(t, func(r *race) {
		store, line := r.server.silent(r.t)
		failed := make(failures, 100)
		el := r.enter("only", store, func(c *settings) { c.Logger = slog.New(slog.NewTextHandler(failed, nil)) })
		for term := memberstate.Term(1); term <= 2; term++ {
			office := r.next()
			assert.GreaterOrEqual(r.t, office.term, term)
			line.Hold()
			r.ends(office)
			assert.NotEqual(r.t, memberstate.Leader, el.Status().Role)
			<-failed
			line.Resume()
		}
		r.next()
	})
}

// failures receives the errors of a keeper's reads.
type failures chan string

func (f failures) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "could not be read") {
		f <- string(line)
	}
	return len(line), nil
}

// Callbacks that block do not block renewals.
func TestCallbacksThatBlockDoNotBlockRenewals(t *testing.T) {
	contend(t, func(r *race) {
		hold := make(chan struct{})
		defer close(hold)
		store := r.direct()
		r.enter("first", store, func(c *settings) { c.Handlers = []elector.RoleHandler{stuck{hold}} })
		first := r.next()
		r.enter("second", r.direct(), nil)
		threeTTLs := uint64(3 * unhurried.TTL / unhurried.Renew)
		require.Eventually(r.t, func() bool { return r.record(store).Renewals >= threeTTLs }, patience, 100*time.Millisecond)
		assert.Equal(r.t, first.term, r.record(store).Term)
		assert.NoError(r.t, first.ctx.Err())
	})
}

type stuck struct{ hold chan struct{} }

func (h stuck) Startup()              { <-h.hold }
func (h stuck) Handle(elector.Status) { <-h.hold }
func (h stuck) Shutdown()             { <-h.hold }

// In elections that compare the row with the contender's clock, a clock that is 12 s ahead steals
// a live lease. Here the clock gains with every poll: in a bubble, where waits take no time, the
// contender polls until the lease would have expired twice by its clock.
func TestAContendersOwnClockStealsNothing(t *testing.T) {
	const ttl = 10 * time.Minute
	for name, open := range servers {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			r := &race{t: t, server: s, name: "clock " + rand.Text()}
			store := r.direct()
			won, err := store.Acquire(t.Context(), lease.Claim{Name: r.name, Holder: "a#1", TTL: ttl})
			require.NoError(t, err)
			require.True(t, won)
			contender := outside(t, store)
			synctest.Test(t, func(t *testing.T) {
				timing := unhurried
				timing.Poll = ttl / 50
				el, err := lease.New(lease.KeeperConfig{Self: "b", Store: contender, Timing: timing}, lease.GroupConfig{Name: r.name})
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 2*ttl)
				defer cancel()
				require.NoError(t, el.Run(ctx))
			})
			assert.Greater(t, contender.reads, 90)
			assert.Zero(t, contender.claims)
			assert.Equal(t, "a#1", r.record(store).Holder)
			assert.EqualValues(t, 1, r.record(store).Term)
		})
	}
}

// abroad is a store whose calls leave the bubble, so that drivers run in real time, for at most
// patience in all. It counts the calls.
type abroad struct {
	lease.Store
	calls         chan func(context.Context)
	done          chan struct{}
	reads, claims int
	failed        error // the error of the last read that failed
}

func outside(t *testing.T, s lease.Store) *abroad {
	t.Helper()
	a := &abroad{Store: s, calls: make(chan func(context.Context)), done: make(chan struct{})}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for call := range a.calls {
			call(ctx)
			a.done <- struct{}{}
		}
	}()
	t.Cleanup(func() { close(a.calls) })
	return a
}

func (a *abroad) do(call func(context.Context)) {
	a.calls <- call
	<-a.done
}

func (a *abroad) Read(_ context.Context, names []string) (found []lease.Record, err error) {
	a.do(func(ctx context.Context) {
		a.reads++
		if found, err = a.Store.Read(ctx, names); err != nil {
			a.failed = err
		}
	})
	return found, err
}

func (a *abroad) Acquire(_ context.Context, c lease.Claim) (won bool, err error) {
	a.do(func(ctx context.Context) {
		a.claims++
		won, err = a.Store.Acquire(ctx, c)
	})
	return won, err
}

// In some elections every poll is an insert that fails, and burns an id. Here a crowd of polls
// writes nothing, by the database's own counters. It does not even try, because the polls work
// while all writers are locked out.
func TestPollsWriteNothing(t *testing.T) {
	for name, open := range servers {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			r := &race{t: t, server: s, name: "polls " + rand.Text()}
			store := r.direct()
			won, err := store.Acquire(t.Context(), lease.Claim{Name: r.name, Holder: "a#1", TTL: time.Hour})
			require.NoError(t, err)
			require.True(t, won)
			follower := outside(t, r.direct())
			thaw := s.freeze(t)
			before := s.written(t)
			if name != "SQLite" { // whose driver waits for twenty seconds, whatever the context says
				brief, cancel := context.WithTimeout(t.Context(), unhurried.Timeout)
				require.Error(t, store.Force(brief, r.name+" other", ""), "writers are not kept out")
				cancel()
			}
			synctest.Test(t, func(t *testing.T) {
				el, err := lease.New(lease.KeeperConfig{Self: "b", Store: follower, Timing: unhurried}, lease.GroupConfig{Name: r.name})
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 100*unhurried.Poll)
				defer cancel()
				require.NoError(t, el.Run(ctx))
			})
			assert.GreaterOrEqual(t, follower.reads, 100)
			assert.NoError(t, follower.failed)
			assert.Zero(t, follower.claims)
			assert.Equal(t, before, s.written(t))
			thaw()
			require.NoError(t, store.Force(t.Context(), r.name, ""))
			assert.NotEqual(t, before, s.written(t), "the account is not kept")
		})
	}
}
