// Package leasetest is the acceptance test for any [lease.Store]. Call [Run] from a test
// of your store:
//
//	func TestStore(t *testing.T) {
//		leasetest.Run(t, leasetest.Subject{Store: store})
//	}
//
// Set Step, Statements and Far of the [Subject], too, if you can: a test that needs one is skipped if
// it is nil. Set Coarse only if your store needs it, because that skips or weakens tests. Listing is tested
// if the store is a [lease.Lister]. That a store reports a [lease.LockedError] is not tested here.
package leasetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// Subject is a store under test. It may be in use at the same time, because the tests draw
// random names of leases.
type Subject struct {
	Store lease.Store
	// Step makes the database's clock jump. Nil: steps are not tested.
	Step func(by time.Duration)
	// Coarse says that the store only knows whether a lease has expired, not how long
	// it lasts, or rounds times up by much.
	Coarse bool
	// Statements returns how many statements the store has sent to its database so
	// far. Nil: it is not tested whether renewals share statements.
	Statements func() int
	// Far makes a second store over the same database, whose connection can be held
	// up. Nil: neither statements that are late by a TTL nor a silent database are
	// tested.
	Far func() Far
}

// patience is longer than anything takes that does not fail.
const patience = 30 * time.Second

// long is a TTL that outlasts a test, short one whose end a test waits for.
const (
	long  = time.Hour
	short = 250 * time.Millisecond
)

// Run checks that a store keeps the contract.
func Run(t *testing.T, subject Subject) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(newStand(t, subject)) })
	}
}

var tests = map[string]func(*stand){
	"the first claim makes the record":                      (*stand).firstClaim,
	"a live lease is not taken":                             (*stand).liveLease,
	"an expired lease is taken":                             (*stand).ranOut,
	"a holder can claim its lease again":                    (*stand).holderClaimsAnew,
	"a claim in another term does nothing":                  (*stand).claimInAnotherTerm,
	"a watched claim uses no clock":                         (*stand).watchedClaim,
	"only held leases are renewed":                          (*stand).renewing,
	"a renewal lasts a TTL":                                 (*stand).renewingLasts,
	"an expired lease that was not taken is renewed":        (*stand).renewingAfterTheEnd,
	"ten thousand leases are renewed at once":               (*stand).renewingMany,
	"a released lease is free":                              (*stand).release,
	"only the holder releases":                              (*stand).releaseByOthers,
	"forcing ends the term":                                 (*stand).forcing,
	"forcing does not shorten the lease":                    (*stand).forcingWaits,
	"a forced lease is released by its holder":              (*stand).forcedRelease,
	"an unknown lease can be forced":                        (*stand).forcingUnknown,
	"statements may be executed twice":                      (*stand).duplicates,
	"renewals within a second are kept":                     (*stand).renewingQuickly,
	"statements may be executed late":                       (*stand).lateStatements,
	"names are compared byte by byte":                       (*stand).names,
	"all leases are listed":                                 (*stand).listing,
	"holders are compared byte by byte":                     (*stand).holders,
	"time is finer than a second":                           (*stand).fineTime,
	"an ended context is an error":                          (*stand).endedContext,
	"of many claims one succeeds":                           (*stand).manyClaims,
	"the clock may step":                                    (*stand).clockSteps,
	"every history is linearizable":                         (*stand).linearizable,
	"renewals share statements":                             (*stand).sharing,
	"a silent database delays no method beyond its context": (*stand).silence,
	"statements that are late by a TTL change nothing":      (*stand).lateByATTL,
}

// stand is one test with a lease of its own.
type stand struct {
	Subject
	t    testing.TB
	ctx  context.Context
	name string
}

func newStand(t testing.TB, subject Subject) *stand {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &stand{Subject: subject, t: t, ctx: ctx, name: "test " + rand.Text()}
}

// read returns the record of a lease, and false if there is none.
func (s *stand) read(name string) (lease.Record, bool) {
	s.t.Helper()
	found, err := s.Store.Read(s.ctx, []string{name})
	require.NoError(s.t, err)
	if len(found) == 0 {
		return lease.Record{Name: name}, false
	}
	require.Len(s.t, found, 1)
	require.Equal(s.t, name, found[0].Name)
	return found[0], true
}

func (s *stand) record() lease.Record {
	s.t.Helper()
	r, ok := s.read(s.name)
	require.True(s.t, ok, "there is no record")
	return r
}

// state returns a record without the time left.
func state(r lease.Record) lease.Record {
	r.Left = 0
	return r
}

func (s *stand) acquire(c lease.Claim) bool {
	s.t.Helper()
	won, err := s.Store.Acquire(s.ctx, c)
	require.NoError(s.t, err)
	return won
}

// claim returns a claim for the test's lease.
func (s *stand) claim(holder string, term memberstate.Term, ttl time.Duration) lease.Claim {
	return lease.Claim{Name: s.name, Holder: holder, TTL: ttl, Term: term}
}

// take acquires the test's lease, whatever its state.
func (s *stand) take(holder string, ttl time.Duration) lease.Held {
	s.t.Helper()
	r, _ := s.read(s.name)
	c := s.claim(holder, r.Term, ttl)
	c.Watched, c.Renewals = true, r.Renewals
	require.True(s.t, s.acquire(c))
	return lease.Held{Name: s.name, Term: r.Term + 1}
}

func (s *stand) renew(holder string, held ...lease.Held) []string {
	s.t.Helper()
	kept, err := s.Store.Renew(s.ctx, holder, held)
	require.NoError(s.t, err)
	return kept
}

func (s *stand) free(holder string, held lease.Held) {
	s.t.Helper()
	require.NoError(s.t, s.Store.Release(s.ctx, holder, held))
}

func (s *stand) force(heir string) {
	s.t.Helper()
	require.NoError(s.t, s.Store.Force(s.ctx, s.name, heir))
}

// runOut waits until the database says that the lease has expired.
func (s *stand) runOut() lease.Record {
	s.t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; pause() {
		if r := s.record(); r.Left <= 0 {
			return r
		}
	}
	require.Fail(s.t, "the lease does not expire")
	return lease.Record{}
}

// ranOutBy waits until the lease must have expired, or, in a coarse store, has expired.
func (s *stand) ranOutBy(then time.Time) lease.Record {
	s.t.Helper()
	if s.Coarse {
		return s.runOut()
	}
	<-time.After(time.Until(then))
	r := s.record()
	assert.LessOrEqual(s.t, r.Left, time.Duration(0), "the lease lasts longer than its TTL")
	return r
}

// grain is larger than the rounding of a database's clock.
const grain = 5 * time.Millisecond

func (s *stand) needsFineTime() {
	s.t.Helper()
	if s.Coarse {
		s.t.Skip("Subject.Coarse: the store does not say how long a lease lasts")
	}
}

func pause() { <-time.After(time.Millisecond) }

func (s *stand) firstClaim() {
	_, known := s.read(s.name)
	assert.False(s.t, known)
	require.True(s.t, s.acquire(s.claim("a#1", 0, long)))
	r := s.record()
	assert.Equal(s.t, lease.Record{Name: s.name, Term: 1, Holder: "a#1", TTL: long}, state(r))
	assert.Positive(s.t, r.Left)
	if !s.Coarse {
		assert.LessOrEqual(s.t, r.Left, long)
		assert.Greater(s.t, r.Left, long-patience)
	}
	found, err := s.Store.Read(s.ctx, nil)
	assert.NoError(s.t, err)
	assert.Empty(s.t, found)
}

func (s *stand) liveLease() {
	s.take("a#1", long)
	before := s.record()
	for _, term := range []memberstate.Term{0, 1, 2} {
		assert.False(s.t, s.acquire(s.claim("b#1", term, long)), "claim in term %d", term)
	}
	assert.Equal(s.t, state(before), state(s.record()))
}

func (s *stand) ranOut() {
	begin := time.Now()
	s.take("a#1", short)
	answered := time.Now()
	won := s.acquire(s.claim("b#1", 1, long))
	require.Less(s.t, time.Since(begin), short, "the machine is too slow for this test")
	assert.False(s.t, won)
	r := s.ranOutBy(answered.Add(short + grain))
	assert.Equal(s.t, "a#1", r.Holder)
	assert.False(s.t, r.Released)
	assert.True(s.t, s.acquire(s.claim("b#1", 1, long)))
	assert.Equal(s.t, lease.Record{Name: s.name, Term: 2, Holder: "b#1", TTL: long}, state(s.record()))
}

func (s *stand) holderClaimsAnew() {
	held := s.take("a#1", long)
	s.renew("a#1", held)
	assert.True(s.t, s.acquire(s.claim("a#1", 1, long)))
	assert.Equal(s.t, lease.Record{Name: s.name, Term: 2, Holder: "a#1", TTL: long}, state(s.record()))
	assert.Empty(s.t, s.renew("a#1", held))
}

func (s *stand) claimInAnotherTerm() {
	s.free("a#1", s.take("a#1", long))
	for _, term := range []memberstate.Term{0, 2, 1 << 40} {
		assert.False(s.t, s.acquire(s.claim("b#1", term, long)))
	}
	assert.True(s.t, s.acquire(s.claim("b#1", 1, long)))
	c := s.claim("x#1", 5, long)
	c.Name = s.name + " unknown"
	assert.False(s.t, s.acquire(c))
}

func (s *stand) watchedClaim() {
	held := s.take("a#1", long)
	require.Len(s.t, s.renew("a#1", held), 1)
	c := s.claim("b#1", 1, long)
	c.Watched = true
	assert.False(s.t, s.acquire(c), "it was renewed")
	c.Renewals = 1
	assert.True(s.t, s.acquire(c))
	assert.Equal(s.t, lease.Record{Name: s.name, Term: 2, Holder: "b#1", TTL: long}, state(s.record()))
}

func (s *stand) renewing() {
	held := s.take("a#1", long)
	other := lease.Claim{Name: s.name + " other", Holder: "b#1", TTL: long}
	require.True(s.t, s.acquire(other))
	assert.Empty(s.t, s.renew("a#1"))
	kept := s.renew("a#1", lease.Held{Name: other.Name, Term: 1}, held, lease.Held{Name: s.name + " unknown", Term: 1})
	assert.Equal(s.t, []string{s.name}, kept)
	renewals := s.record().Renewals
	assert.Positive(s.t, renewals)
	assert.Empty(s.t, s.renew("a#1", lease.Held{Name: s.name, Term: 2}, lease.Held{Name: s.name, Term: 0}))
	assert.Empty(s.t, s.renew("b#1", held))
	assert.Equal(s.t, renewals, s.record().Renewals)
	r, _ := s.read(other.Name)
	assert.Zero(s.t, r.Renewals)
}

// renewingQuickly finds stores with time in whole seconds: their second renewal changes nothing,
// so the lease looks lost.
func (s *stand) renewingQuickly() {
	held := s.take("a#1", long)
	for range 10 {
		require.Len(s.t, s.renew("a#1", held), 1)
	}
	assert.EqualValues(s.t, 10, s.record().Renewals)
}

func (s *stand) renewingLasts() {
	s.needsFineTime()
	held := s.take("a#1", 10*time.Second)
	before := s.record()
	for begin := time.Now(); before.Left > 10*time.Second-short; pause() {
		require.Less(s.t, time.Since(begin), patience)
		before = s.record()
	}
	require.Len(s.t, s.renew("a#1", held), 1)
	assert.Greater(s.t, s.record().Left, before.Left)
}

func (s *stand) renewingAfterTheEnd() {
	held := s.take("a#1", short)
	s.runOut()
	assert.Len(s.t, s.renew("a#1", held), 1)
	assert.Positive(s.t, s.record().Left)
}

func (s *stand) renewingMany() {
	const many, ours = 10_000, 20
	var held []lease.Held
	for i := range many {
		held = append(held, lease.Held{Name: s.name + " " + string(rune('0'+i%10)) + rand.Text(), Term: 1})
	}
	names := make([]string, many)
	for i, h := range held {
		names[i] = h.Name
		if i%(many/ours) == 0 {
			require.True(s.t, s.acquire(lease.Claim{Name: h.Name, Holder: "a#1", TTL: long}))
		}
	}
	assert.Len(s.t, s.renew("a#1", held...), ours)
	found, err := s.Store.Read(s.ctx, names)
	require.NoError(s.t, err)
	assert.Len(s.t, found, ours)
	for _, r := range found {
		assert.Positive(s.t, r.Renewals)
	}
}

// sharing finds stores that renew leases one by one: with ten thousand leases they would need
// longer than the leases last. One statement must renew at least 20 leases.
func (s *stand) sharing() {
	if s.Statements == nil {
		s.t.Skip("Subject.Statements is nil: the statements are not counted")
	}
	const many, each = 400, 20
	var held []lease.Held
	for i := range many {
		h := lease.Held{Name: fmt.Sprintf("%s %d", s.name, i), Term: 1}
		require.True(s.t, s.acquire(lease.Claim{Name: h.Name, Holder: "a#1", TTL: long}))
		held = append(held, h)
	}
	before := s.Statements()
	assert.Len(s.t, s.renew("a#1", held...), many)
	sent := s.Statements() - before
	assert.Positive(s.t, sent, "the statements are not counted")
	assert.Less(s.t, sent, many/each)
}

func (s *stand) release() {
	held := s.take("a#1", long)
	s.renew("a#1", held)
	s.free("a#1", held)
	r := s.record()
	assert.True(s.t, r.Released)
	assert.Empty(s.t, r.Holder)
	assert.EqualValues(s.t, 1, r.Term, "the term must never fall")
	assert.LessOrEqual(s.t, r.Left, time.Duration(0))
	assert.Empty(s.t, s.renew("a#1", held))
	assert.True(s.t, s.acquire(s.claim("b#1", 1, long)))
	assert.EqualValues(s.t, 2, s.record().Term)
	assert.False(s.t, s.record().Released)
}

func (s *stand) releaseByOthers() {
	held := s.take("a#1", long)
	before := s.record()
	s.free("b#1", held)
	s.free("a#1", lease.Held{Name: s.name, Term: 0})
	s.free("a#1", lease.Held{Name: s.name, Term: 2})
	s.free("a#1", lease.Held{Name: s.name + " unknown", Term: 1})
	assert.Equal(s.t, state(before), state(s.record()))
}

func (s *stand) forcing() {
	held := s.take("a#1", long)
	s.renew("a#1", held)
	s.force("b")
	assert.Equal(s.t, lease.Record{Name: s.name, Term: 2, Heir: "b", TTL: long}, state(s.record()))
	assert.Empty(s.t, s.renew("a#1", held))
	s.force("")
	assert.Equal(s.t, lease.Record{Name: s.name, Term: 3, TTL: long}, state(s.record()))
}

func (s *stand) forcingWaits() {
	s.take("a#1", short)
	s.force("b")
	begin := time.Now()
	if won := s.acquire(s.claim("b#1", 2, long)); won {
		assert.GreaterOrEqual(s.t, time.Since(begin), short, "the old holder may be in office")
		return
	}
	s.runOut()
	assert.True(s.t, s.acquire(s.claim("b#1", 2, long)))
	assert.Equal(s.t, lease.Record{Name: s.name, Term: 3, Holder: "b#1", TTL: long}, state(s.record()))
}

func (s *stand) forcedRelease() {
	held := s.take("a#1", long)
	s.force("b")
	assert.False(s.t, s.acquire(s.claim("b#1", 2, long)))
	s.free("a#1", lease.Held{Name: s.name, Term: 0})
	assert.False(s.t, s.record().Released)
	s.free("a#1", held)
	r := s.record()
	assert.True(s.t, r.Released)
	assert.Equal(s.t, "b", r.Heir)
	assert.True(s.t, s.acquire(s.claim("b#1", 2, long)))
	assert.Empty(s.t, s.record().Heir)
}

func (s *stand) forcingUnknown() {
	s.force("b")
	r := s.record()
	assert.EqualValues(s.t, 1, r.Term)
	assert.Equal(s.t, "b", r.Heir)
	assert.True(s.t, r.Released)
	assert.True(s.t, s.acquire(s.claim("b#1", 1, long)))
}

func (s *stand) duplicates() {
	c := s.claim("a#1", 0, long)
	assert.True(s.t, s.acquire(c))
	assert.False(s.t, s.acquire(c))
	held := lease.Held{Name: s.name, Term: 1}
	assert.Equal(s.t, lease.Record{Name: s.name, Term: 1, Holder: "a#1", TTL: long}, state(s.record()))
	assert.Len(s.t, s.renew("a#1", held), 1)
	assert.Len(s.t, s.renew("a#1", held), 1)
	s.free("a#1", held)
	before := s.record()
	s.free("a#1", held)
	assert.Equal(s.t, state(before), state(s.record()))
}

// lateStatements are executed after their term is over.
func (s *stand) lateStatements() {
	old := s.take("a#1", long)
	s.free("a#1", old)
	s.take("b#1", long)
	before := s.record()
	assert.False(s.t, s.acquire(s.claim("a#1", 0, long)))
	assert.False(s.t, s.acquire(s.claim("a#1", 1, long)))
	assert.Empty(s.t, s.renew("a#1", old))
	s.free("a#1", old)
	assert.Equal(s.t, state(before), state(s.record()))
	s.take("a#1", long)
	before = s.record()
	assert.Empty(s.t, s.renew("a#1", old), "the holder's own lease, but of an old term")
	s.free("a#1", old)
	assert.Equal(s.t, state(before), state(s.record()))
}

// clockSteps moves the database's clock back and forth.
func (s *stand) clockSteps() {
	if s.Step == nil {
		s.t.Skip("Subject.Step is nil: the database's clock cannot be moved")
	}
	held := s.take("a#1", long)
	s.Step(-24 * time.Hour)
	require.Len(s.t, s.renew("a#1", held), 1)
	assert.LessOrEqual(s.t, s.record().Left, long, "a renewal counts from now")
	c := s.claim("b#1", 1, long)
	c.Watched, c.Renewals = true, 1
	assert.True(s.t, s.acquire(c))
	held = lease.Held{Name: s.name, Term: 2}
	s.Step(48 * time.Hour)
	assert.LessOrEqual(s.t, s.record().Left, time.Duration(0))
	c = s.claim("c#1", 2, long)
	c.Watched, c.Renewals = true, 7
	assert.False(s.t, s.acquire(c), "the clock says that the lease has expired, but a watched claim must not use the clock")
	assert.Len(s.t, s.renew("b#1", held), 1, "the lease was not taken")
	s.free("b#1", held)
	s.Step(-24 * time.Hour)
	assert.True(s.t, s.acquire(s.claim("c#1", 2, long)), "a released lease is free at any time")
}
