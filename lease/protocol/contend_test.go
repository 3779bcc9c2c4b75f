// When a lease is free, and who is shown as its leader.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// A store may know of an expired lease only that it has expired, and of another only that it has not.
func TestALeaseIsFreeWhenNoTimeIsLeft(t *testing.T) {
	for left, free := range map[time.Duration]bool{0: true, LeftUnknown: false} {
		d, k, timing := newDesk(t)
		at, look := d.asks(t, k, 0, Read)
		led := Record{Name: "g", Term: 1, Holder: "b#1", TTL: timing.TTL, Left: left}
		k.Step(at, &Answer{Number: look.Number, Records: []Record{led}}, d)
		if free {
			assert.Equal(t, 1, d.called(Acquire))
			assert.Equal(t, View{Role: memberstate.Candidate, Term: 1}, k.sessions[0].view)
			continue
		}
		assert.Empty(t, d.calls)
		assert.Equal(t, View{Role: memberstate.Follower, Term: 1, Leader: "b#1"}, k.sessions[0].view)
	}
}

// The holder may have another TTL than this candidate. What counts is how long the holder believes that it has the lease.
func TestAStrictCandidateWaitsForTheHoldersTTL(t *testing.T) {
	a := attend(0, func(r *Rules) { r.Strict = true })
	a.taken()
	a.record.TTL, a.until = 3*timing.TTL, a.now
	a.firstLook(t)
	seen := a.now
	a.after(3*timing.TTL - 1)
	assert.Empty(t, a.claims)
	assert.Equal(t, "b#1", a.view().Leader)
	a.after(timing.Poll + 1)
	require.Len(t, a.claims, 1)
	assert.GreaterOrEqual(t, a.claims[0]-seen, 3*timing.TTL)
}

// A read may hit a copy of the database that is stuck in an older term. It says nothing of the lease, so a strict candidate
// watches on. Otherwise such reads would keep it from a dead leader's lease for ever.
func TestAnOldCopyDoesNotBeginTheWatchAnew(t *testing.T) {
	a := attend(0, func(r *Rules) { r.Strict = true })
	a.record.Term = 6
	a.taken()
	a.firstLook(t)
	current, old := a.record, a.record
	old.Term--
	for end := a.now + timing.TTL + 4*timing.Poll; len(a.claims) == 0; {
		require.Less(t, a.now, end)
		a.record = old
		a.after(timing.Poll)
		a.record = current
		a.after(timing.Poll)
	}
}

// Others wait for an heir as long as the old holder's TTL says, and then as long again.
func TestAnHeirIsWaitedForByTheHoldersTTL(t *testing.T) {
	a := attend(0, nil)
	a.record = Record{Name: "g", Term: 7, Heir: "b", TTL: 3 * timing.TTL}
	a.firstLook(t)
	seen := a.now
	a.after(6*timing.TTL - 1)
	assert.Empty(t, a.claims)
	a.after(timing.Poll + 1)
	require.Len(t, a.claims, 1)
	assert.GreaterOrEqual(t, a.claims[0]-seen, 6*timing.TTL)
}

// A lease that was forced has no leader until it is acquired, although it has not expired.
func TestAForcedLeaseHasNoLeader(t *testing.T) {
	for _, strict := range []bool{false, true} {
		a := attend(0, func(r *Rules) { r.Strict = strict })
		a.taken()
		a.after(timing.Poll)
		require.Equal(t, memberstate.Follower, a.view().Role)
		a.record.Term, a.record.Holder, a.record.Heir = 2, "", "c"
		a.after(timing.Poll)
		assert.Equal(t, memberstate.Candidate, a.view().Role)
		assert.Empty(t, a.view().Leader)
	}
}

// A candidate that has resigned leaves its lease to others until they have looked, whatever the other intervals are.
func TestACandidateThatHasResignedWaitsForThePollsOfOthers(t *testing.T) {
	for _, poll := range []time.Duration{timing.Poll / 10, 2 * timing.Poll} {
		a := attend(0, func(r *Rules) { r.Timing.Poll = poll })
		a.after(time.Minute)
		require.True(t, a.leads())
		a.step(Resign{Name: "g"})
		a.after(2*poll - 1)
		assert.Len(t, a.claims, 1)
		a.after(poll + 1)
		assert.Len(t, a.claims, 2)
	}
}

// Of many free leases some wait for their turn to be claimed. However slowly the database answers, they get it: a wait is no
// failure.
func TestAClaimIsNotGivenUpBeforeItsTurn(t *testing.T) {
	d, k, timing := newDesk(t)
	k.rules.Limits.Calls[Acquire], k.rules.Timing.Timeout = 1, timing.Poll
	for _, name := range []string{"h", "i"} {
		k.Step(0, Enter{Name: name}, d)
	}
	at, claim := d.asks(t, k, 0, Acquire)
	for _, next := range []string{"h", "i"} {
		at += timing.Poll - 1
		k.Step(at, Tick{}, d)
		k.Step(at, &Answer{Number: claim.Number}, d)
		claim = d.last(t, Acquire)
		assert.Equal(t, next, claim.Claim.Name)
	}
	assert.Empty(t, d.told)
}

// A candidate claims a lease for its own TTL, by which it counts, however long that of the last holder was.
func TestALeaseIsClaimedForTheOwnTTL(t *testing.T) {
	for _, others := range []time.Duration{timing.TTL / 3, 3 * timing.TTL} {
		d, k, timing := newDesk(t)
		at, look := d.asks(t, k, 0, Read)
		k.Step(at, &Answer{Number: look.Number, Records: []Record{{Name: "g", Term: 4, Holder: "b#1", Renewals: 5, TTL: others}}}, d)
		assert.Equal(t, Claim{Name: "g", Holder: "a#1", TTL: timing.TTL, Term: 4, Renewals: 5}, d.last(t, Acquire).Claim)
	}
}
