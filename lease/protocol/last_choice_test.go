// What a candidate does that is not able to lead: it gives up its lease, claims only what nobody else
// wants, and then keeps it for a while.

package protocol

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	voting "github.com/hustings/hustings/elector/protocol"
)

func TestAHolderThatIsNotAbleGivesUpItsLease(t *testing.T) {
	a := attend(vouch, nil)
	a.after(time.Minute)
	require.True(t, a.leads())
	a.vouches = false
	a.after(vouch)
	require.True(t, a.leads())
	a.hangs = true
	a.after(1)
	assert.False(t, a.leads())
	assert.Len(t, a.ends, 1, "the context of Lead has ended")
	assert.False(t, a.record.Released)
	renewals := a.record.Renewals
	a.after(timing.Renew)
	assert.Equal(t, renewals, a.record.Renewals, "it is not renewed any more")
	a.hangs = false
	a.after(1)
	assert.True(t, a.record.Released, "Lead has returned")
	v := a.view()
	assert.Equal(t, "a#1", v.Last)
	assert.Equal(t, voting.DepartedNotAble, v.Departure)
	assert.Equal(t, voting.NotAbleSilent, v.Inability)
	assert.Equal(t, []Note{{Topic: NotAble, Name: "g", Term: 1, Why: voting.NotAbleSilent}}, a.told)
}

// A holder that has just recovered can do its work.
func TestAHolderThatHasRecoveredLeadsOn(t *testing.T) {
	a := attend(vouch, nil)
	a.after(time.Minute)
	a.vouches = false
	a.after(vouch + 1)
	a.after(6 * timing.Poll)
	require.True(t, a.leads(), "nobody else wanted the lease")
	stay := a.k.sessions[0].office.keep
	a.after(stay - timing.TTL/2 - a.now)
	a.vouches = true
	require.Equal(t, voting.NotAbleHold, a.after(timing.TTL/2), "at the end of its stay")
	a.after(time.Hour)
	assert.True(t, a.leads())
	assert.Len(t, a.ends, 1)
}

// After a long time without a failure, stays begin anew.
func TestStaysBeginAnew(t *testing.T) {
	a := attend(vouch, nil)
	a.after(time.Minute)
	for range 2 {
		a.vouches = false
		a.after(vouch + 6*timing.Poll + shortestStay*timing.TTL + timing.Renew)
		assert.Len(t, a.ends, 2, "its office, and the first stay")
		a.vouches, a.ends = true, nil
		a.after(2 * longest * timing.TTL)
		require.True(t, a.leads())
	}
}

// An order is no failure, but the stays that follow it begin anew as well. They do not while it is in force.
func TestStaysBeginAnewAfterAnOrder(t *testing.T) {
	a := attend(0, nil)
	a.after(time.Minute)
	for range 2 {
		a.ends = nil
		a.step(Electable{Name: "g"})
		a.after(6*timing.Poll + shortestStay*timing.TTL)
		require.Len(t, a.ends, 2, "its office, and the first stay")
		a.after(2 * longest * timing.TTL)
		a.ends = nil
		a.after(2 * longest * timing.TTL)
		assert.LessOrEqual(t, len(a.ends), 2, "they have become long")
		a.step(Electable{Name: "g", May: true})
		a.after(longest*timing.TTL + 1)
		require.True(t, a.leads())
	}
	a.step(Electable{Name: "g"})
	a.after(2 * longest * timing.TTL)
	a.step(Electable{Name: "g", May: true})
	a.after(longest * timing.TTL)
	a.ends = nil
	a.step(Electable{Name: "g"})
	a.after(longest * timing.TTL)
	assert.Len(t, a.ends, 1, "that is not longer yet")
}

// A candidate that is not able leaves a lease to others until they have had time to claim it.
func TestACandidateThatIsNotAbleIsTheLastChoice(t *testing.T) {
	a := following()
	a.after(vouch + 1)
	a.after(time.Minute)
	a.freed()
	freed := a.now
	a.k.claims.making = a.k.rules.Limits.Calls[Acquire]
	a.after(4 * timing.Poll)
	assert.Empty(t, a.claims)
	assert.Equal(t, watching, a.k.sessions[0].phase, "it does not wait for a turn to claim")
	a.k.claims.making = 0
	a.after(2 * timing.Poll)
	require.Len(t, a.claims, 1)
	assert.GreaterOrEqual(t, a.claims[0]-freed, 4*timing.Poll)
	assert.True(t, a.leads())
}

// Others look once a Poll, so the last choice waits for that long, whatever the other intervals are.
func TestTheLastChoiceWaitsForThePollsOfOthers(t *testing.T) {
	for _, poll := range []time.Duration{timing.Poll / 10, 2 * timing.Poll} {
		a := attend(0, func(r *Rules) { r.Timing.Poll = poll })
		a.step(Electable{Name: "g"})
		a.firstLook(t)
		a.after(a.k.sessions[0].seen.free + 4*poll - 1 - a.now)
		assert.Empty(t, a.claims)
		a.after(poll + 1)
		assert.Len(t, a.claims, 1)
	}
}

// A lease that has had a leader meanwhile was wanted. It must stand free for as long again.
func TestALeaseThatWasTakenMeanwhileHasNotStoodFree(t *testing.T) {
	a := following()
	a.after(vouch + 1)
	for range 20 {
		a.freed()
		a.after(3 * timing.Poll)
		a.taken()
		a.freed() // before it was looked at
	}
	assert.Empty(t, a.claims)
}

// Nor has one that was held meanwhile, in the same term, by a clock that has stepped.
func TestALeaseThatWasHeldMeanwhileHasNotStoodFree(t *testing.T) {
	a := following()
	a.after(vouch + 1)
	for range 20 {
		a.until = a.now
		a.after(3 * timing.Poll)
		a.until = a.now + time.Hour
		a.after(timing.Poll)
	}
	assert.Empty(t, a.claims)
}

// A candidate that becomes able claims at once.
func TestACandidateThatIsAbleAgainNeedNotWait(t *testing.T) {
	a := attend(0, nil)
	a.step(Electable{Name: "g"})
	a.after(2 * timing.Poll)
	require.Empty(t, a.claims)
	a.step(Electable{Name: "g", May: true})
	a.after(timing.Poll)
	assert.True(t, a.leads())
}

// A claim that has to wait for its turn is not made if the candidate is not able any more.
func TestAClaimIsWithdrawnByACandidateThatIsNotAble(t *testing.T) {
	a := attend(0, nil)
	a.k.claims.making = a.k.rules.Limits.Calls[Acquire]
	a.firstLook(t)
	require.Equal(t, claiming, a.k.sessions[0].phase)
	a.step(Electable{Name: "g"})
	a.k.claims.making = 0
	a.k.nextClaims()
	a.after(timing.Poll)
	assert.Empty(t, a.claims)
	a.after(5 * timing.Poll)
	assert.Len(t, a.claims, 1)
}

// If the candidate fails while its claim is under way, it was not the last choice: others may be able.
func TestAClaimThatWasMadeByAnAbleCandidateGivesNoRightToStay(t *testing.T) {
	a := attend(0, nil)
	a.step(Electable{Name: "g"})
	a.after(6 * timing.Poll)
	require.True(t, a.leads(), "as the last choice")
	a.step(Electable{Name: "g", May: true})
	a.step(Resign{Name: "g"})
	a.slow = true
	a.after(3 * timing.Poll)
	require.NotNil(t, a.late)
	a.step(Electable{Name: "g"})
	a.step(a.late)
	require.True(t, a.leads())
	a.after(timing.Renew / 4)
	assert.False(t, a.leads())
}

// A claim that was won without an answer is not repeated by a candidate that is not able. Others have to
// wait until the lease expires, so it waits for longer.
func TestALeaseThatWasWonUnknownIsLeftByACandidateThatIsNotAble(t *testing.T) {
	a := attend(0, nil)
	a.deaf = true
	a.firstLook(t)
	require.Len(t, a.claims, 1)
	a.deaf = false
	a.step(Electable{Name: "g"})
	a.after(timing.TTL + 4*timing.Poll)
	assert.Len(t, a.claims, 1)
	a.after(2 * timing.Poll)
	assert.Len(t, a.claims, 2)
}

// An heir that is not able leaves its turn to others.
func TestAnHeirThatIsNotAbleWaitsForOthers(t *testing.T) {
	a := attend(0, nil)
	a.step(Electable{Name: "g"})
	a.record = Record{Name: "g", Term: 7, Heir: "a", TTL: timing.TTL, Released: true}
	a.after(2*timing.TTL + 4*timing.Poll)
	assert.Empty(t, a.claims)
	a.after(2 * timing.Poll)
	assert.Len(t, a.claims, 1)
}

// The last choice keeps the lease for a stay that doubles, because each change leaves the group without a
// leader for a while.
func TestTheLastChoiceKeepsTheLeaseForEverLonger(t *testing.T) {
	a := attend(0, nil)
	a.after(time.Minute)
	a.step(Electable{Name: "g"})
	require.Len(t, a.ends, 1, "the first time it gives up the lease at once")
	for i, want := range []time.Duration{4, 8, 16, 32, 64, 128, 128} {
		a.after(6 * timing.Poll)
		require.True(t, a.leads())
		a.step(Electable{Name: "g"}) // an order that is repeated changes nothing
		taken := a.claims[len(a.claims)-1]
		a.after(taken + want*timing.TTL - a.now - 1)
		assert.Len(t, a.ends, i+1, "it keeps the lease for %v", want*timing.TTL)
		a.after(1)
		assert.Len(t, a.ends, i+2)
	}
	a.step(Electable{Name: "g", May: true})
	a.after(time.Minute)
	require.True(t, a.leads())
	a.step(Electable{Name: "g"})
	assert.False(t, a.leads(), "it was able when it claimed the lease")
}

// A leader that is able again is like one that was able when it claimed the lease.
func TestALastChoiceThatIsAbleGivesUpAtOnceWhenItFailsAgain(t *testing.T) {
	a := attend(0, nil)
	a.after(time.Minute)
	a.step(Electable{Name: "g"})
	a.after(6 * timing.Poll)
	require.True(t, a.leads())
	a.step(Electable{Name: "g", May: true})
	a.step(Electable{Name: "g"})
	assert.False(t, a.leads())
}

// However often a service fails and recovers, its candidate gives up the lease ever more rarely.
func TestGivingUpIsBounded(t *testing.T) {
	for seed := range uint64(30) {
		a := attend(timing.TTL, func(r *Rules) { r.Wakes = seed%2 == 0 })
		random := rand.New(rand.NewPCG(seed, 1))
		a.random = random
		most := 2 * timing.TTL << (seed % 8)
		for end := a.now + 1000*timing.TTL; a.now < end; {
			a.vouches = !a.vouches
			a.after(1 + time.Duration(random.Int64N(int64(most))))
		}
		require.Greater(t, len(a.ends), 1, "seed %d", seed)
		var shorter [8]int // than 2^k TTLs
		for i := 1; i < len(a.ends); i++ {
			between := a.ends[i] - a.ends[i-1]
			if between > longest*timing.TTL {
				clear(shorter[:]) // it may have begun anew
			}
			for k := range shorter {
				if between < timing.TTL<<k {
					shorter[k]++
				}
				assert.LessOrEqual(t, shorter[k], max(0, 2*k-1), "seed %d: %v", seed, a.ends)
			}
		}
	}
}
