package row

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

var held = Row{Term: 3, Holder: "a", Heir: "h", Renewals: 7, TTL: 100, Until: 1000}

// Only the holder in the right term can renew or release a lease: a late renewal or release must
// not touch the lease of a later term.
func TestALeaseIsItsHoldersInItsTerm(t *testing.T) {
	for _, c := range []struct {
		holder string
		term   memberstate.Term
		is     bool
	}{{"a", 3, true}, {"a", 2, false}, {"a", 4, false}, {"b", 3, false}, {"b", 2, false}, {"", 2, false}} {
		renewed, ok := held.Renew(c.holder, c.term, 500)
		assert.Equal(t, c.is, ok, "renewed by %q in term %d", c.holder, c.term)
		released, done := held.Release(c.holder, c.term)
		assert.Equal(t, c.is, done, "released by %q in term %d", c.holder, c.term)
		if !c.is {
			assert.Equal(t, held, renewed)
			assert.Equal(t, held, released)
			continue
		}
		assert.Equal(t, Row{Term: 3, Holder: "a", Heir: "h", Renewals: 8, TTL: 100, Until: 600}, renewed)
		assert.Equal(t, Row{Term: 3, Heir: "h", Renewals: 7, TTL: 100}, released)
	}
}

// A holder that was forced out can release the lease until another acquires it, but not renew it.
func TestAForcedLeaseIsReleasedByItsOldHolder(t *testing.T) {
	forced := held.Force("next")
	assert.Equal(t, Row{Term: 4, Heir: "next", TTL: 100, Until: 1000}, forced)
	_, ok := forced.Renew("a", 3, 500)
	assert.False(t, ok)
	_, ok = forced.Release("a", 2)
	assert.False(t, ok)
	free, ok := forced.Release("a", 3)
	assert.True(t, ok)
	assert.Equal(t, Row{Term: 4, Heir: "next", TTL: 100}, free)
	taken, ok := free.Acquire(lease.Claim{Holder: "b", TTL: time.Millisecond, Term: 4}, 500)
	assert.True(t, ok)
	assert.Equal(t, Row{Term: 5, Holder: "b", TTL: 1000, Until: 1500}, taken)
	_, ok = taken.Release("a", 3)
	assert.False(t, ok)
}

// A lease is free if it was released or has expired, for its own holder, and for a watched claim
// with its number of renewals. In each case the claim must have its term.
func TestALeaseIsAcquiredOnlyIfItIsFree(t *testing.T) {
	for name, c := range map[string]struct {
		claim lease.Claim
		now   int64
		won   bool
	}{
		"it has not run out":         {lease.Claim{Holder: "b", Term: 3}, 999, false},
		"it has":                     {lease.Claim{Holder: "b", Term: 3}, 1000, true},
		"in an older term":           {lease.Claim{Holder: "b", Term: 2}, 1000, false},
		"by its holder":              {lease.Claim{Holder: "a", Term: 3}, 999, true},
		"by its holder, late":        {lease.Claim{Holder: "a", Term: 2}, 999, false},
		"it stood still":             {lease.Claim{Holder: "b", Term: 3, Renewals: 7, Watched: true}, 999, true},
		"it did not":                 {lease.Claim{Holder: "b", Term: 3, Renewals: 6, Watched: true}, 999, false},
		"it did not, but is run out": {lease.Claim{Holder: "b", Term: 3, Renewals: 6, Watched: true}, 1000, false},
	} {
		_, won := held.Acquire(c.claim, c.now)
		assert.Equal(t, c.won, won, name)
	}
}
