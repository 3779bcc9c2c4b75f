// When a candidate is not able to lead, and what follows.

package protocol

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	voting "github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// attended is a keeper with one lease, whose service vouches for it or does not. The database answers at
// once, and Lead returns at once, unless they are told to hang.
type attended struct {
	desk
	k         *Keeper
	now, next time.Duration
	record    Record        // as the database has it; its Left is ignored
	until     time.Duration // when it expires
	deaf      bool          // answers to claims are lost
	slow      bool          // they are late
	late      *Answer       // the one that is
	hangs     bool          // Lead does not return
	returning bool          // it is about to
	claims    []time.Duration
	ends      []time.Duration // of offices
	gone      bool            // the lease has ended
}

var timing = DefaultTiming()

// attend runs a candidate for a lease that is free, from some time on.
func attend(vouch time.Duration, change func(*Rules)) *attended {
	a := &attended{desk: desk{roulette: roulette{random: rand.New(rand.NewPCG(1, 1)), vouches: true}}, now: time.Hour}
	a.record = Record{Name: "g", Released: true}
	rules := Rules{ID: "a#1", Self: "a", Timing: timing, Limits: DefaultLimits()}
	if change != nil {
		change(&rules)
	}
	a.k = NewKeeper(rules)
	a.step(Enter{Name: "g", Vouch: vouch})
	return a
}

func (a *attended) Withdraw(string, memberstate.Term) {
	a.ends, a.returning = append(a.ends, a.now), true
}
func (a *attended) End(string) { a.gone = true }

// step has something happen, and answers all calls that follow.
func (a *attended) step(in Input) {
	a.next = a.k.Step(a.now, in, a)
	for len(a.calls) > 0 || a.returning && !a.hangs {
		if a.returning && !a.hangs {
			a.returning = false
			a.next = a.k.Step(a.now, Returned{Name: "g"}, a)
			continue
		}
		c := a.calls[0]
		a.calls = a.calls[1:]
		answer := a.answers(c)
		if a.slow && c.Kind == Acquire {
			a.late = answer
			continue
		}
		a.next = a.k.Step(a.now, answer, a)
	}
}

func (a *attended) answers(c Call) *Answer {
	answer, r := &Answer{Number: c.Number}, &a.record
	switch c.Kind {
	case Read:
		found := *r
		found.Left = a.until - a.now
		answer.Records = []Record{found}
	case Acquire:
		a.claims = append(a.claims, a.now)
		*r, a.until = Record{Name: "g", Term: r.Term + 1, Holder: c.Claim.Holder, TTL: timing.TTL}, a.now+timing.TTL
		if answer.Won = !a.deaf; a.deaf {
			answer.Err = assert.AnError
		}
	case Renew:
		r.Renewals++
		answer.Kept, a.until = []string{"g"}, a.now+timing.TTL
	case Release:
		r.Holder, r.Released = "", true
	case Wake, Listen:
	}
	return answer
}

// after lets time pass, and returns why the candidate is not able then.
func (a *attended) after(d time.Duration) Inability {
	for until := a.now + d; ; {
		if a.next > until {
			a.now = until
			break
		}
		a.now = max(a.now, a.next)
		a.step(Tick{})
	}
	a.step(Tick{})
	return a.view().Inability
}

func (a *attended) view() View { return a.k.sessions[0].view }

func (a *attended) leads() bool { return a.view().Role == memberstate.Leader }

// taken has another candidate hold the lease from now on, for good or until it is freed.
func (a *attended) taken() {
	a.record = Record{Name: "g", Term: a.record.Term + 1, Holder: "b#1", TTL: timing.TTL}
	a.until = a.now + 1000*time.Hour
}

// freed has the other candidate release it.
func (a *attended) freed() { a.record.Holder, a.record.Released = "", true }

// firstLook passes until the lease was looked at.
func (a *attended) firstLook(t *testing.T) {
	t.Helper()
	for end := a.now + time.Minute; a.k.sessions[0].seen.Name == ""; a.after(time.Millisecond) {
		require.Less(t, a.now, end)
	}
}

const vouch = 5 * time.Second

// following is an attended candidate of a lease that another one holds, with a service that does not vouch any
// more from now on.
func following() *attended {
	a := attend(vouch, nil)
	a.taken()
	a.after(time.Minute)
	a.vouches = false
	return a
}

func TestAServiceThatDoesNotVouchIsNotAble(t *testing.T) {
	a := following()
	assert.Equal(t, voting.Able, a.after(vouch), "its last word counts for that long")
	assert.Equal(t, voting.NotAbleSilent, a.after(1))
	assert.Equal(t, voting.NotAbleSilent, a.shown[len(a.shown)-1].Inability)
	a.vouches = true
	assert.Equal(t, voting.NotAbleHold, a.after(1))
	assert.Equal(t, voting.NotAbleHold, a.after(timing.TTL-2))
	assert.Equal(t, voting.Able, a.after(1))
	assert.Equal(t, voting.Able, a.shown[len(a.shown)-1].Inability)
}

func TestAServiceHasSomeTimeToSayItsFirstWord(t *testing.T) {
	a := attend(vouch, nil)
	a.taken()
	a.vouches = false
	assert.Equal(t, voting.Able, a.after(vouch))
	assert.Equal(t, voting.NotAbleSilent, a.after(1))
}

// The keeper ticks often enough, whatever else it does, so a service that hangs is noticed soon.
func TestAServiceThatHangsIsNoticedWithoutAnAlarm(t *testing.T) {
	a := following()
	a.k.rules.Timing.Poll = time.Hour
	for end := a.now + vouch + timing.Renew/4; a.next <= end; {
		a.now = a.next
		a.step(Tick{})
	}
	assert.Equal(t, voting.NotAbleSilent, a.view().Inability)
}

// If the process has not run for a while, the service could not vouch either.
func TestAProcessThatStoodStillWaitsForAWord(t *testing.T) {
	a := following()
	a.now += time.Hour
	assert.Equal(t, voting.Able, a.after(0))
	assert.Equal(t, voting.Able, a.after(vouch/2))
	assert.Equal(t, voting.NotAbleSilent, a.after(1))
}

func TestAServiceThatNeedNotVouchIsAble(t *testing.T) {
	a := attend(0, nil)
	a.vouches, a.healthy = false, true
	assert.Equal(t, voting.Able, a.after(time.Hour))
	assert.True(t, a.leads())
	assert.Zero(t, a.asked)
	a = attend(0, nil)
	a.taken()
	a.now += time.Hour // the process stands still
	assert.Equal(t, voting.Able, a.after(time.Minute))
}

func TestAnObserverNeedNotVouch(t *testing.T) {
	a := attend(vouch, nil)
	a.step(Retire{Name: "g"})
	a.step(Enter{Name: "g", Vouch: vouch, Observer: true})
	a.vouches = false
	a.step(Electable{Name: "g"})
	assert.Equal(t, voting.Able, a.after(time.Hour))
}

func TestAServiceIsAskedOnceARenew(t *testing.T) {
	a := following()
	a.healthy = true
	a.after(timing.Renew)
	assert.Equal(t, 1, a.asked)
	asked := a.k.sessions[0].ability.asked
	a.after(2 * vouch)
	assert.Equal(t, 1, a.asked, "it has not answered yet")
	assert.Equal(t, voting.NotAbleSilent, a.view().Inability)
	a.step(Health{Name: "g"})
	assert.Equal(t, voting.NotAbleSilent, a.view().Inability, "an answer counts from when it was asked for")
	assert.Equal(t, asked, a.k.sessions[0].ability.heard)
	assert.Equal(t, 2, a.asked)
	a.step(Health{Name: "g"})
	assert.Equal(t, voting.NotAbleHold, a.view().Inability)
	a.after(timing.Renew - 1)
	assert.Equal(t, 2, a.asked)
	a.after(1)
	assert.Equal(t, 3, a.asked)
	a.step(Health{Name: "g", Err: assert.AnError})
	assert.Equal(t, voting.NotAbleUnhealthy, a.view().Inability)
}

// An answer that comes late takes nothing back of what the service has said meanwhile.
func TestALateAnswerIsNotTheLastWord(t *testing.T) {
	a := following()
	a.healthy = true
	a.after(timing.Renew)
	require.Equal(t, 1, a.asked)
	a.vouches = true
	a.after(vouch)
	a.vouches = false
	a.step(Health{Name: "g"})
	assert.Equal(t, voting.Able, a.after(vouch-1))
}

// A service that says why it is not able does not hang.
func TestABadAnswerIsAWord(t *testing.T) {
	a := following()
	a.healthy = true
	for range 10 {
		a.after(timing.Renew)
		a.step(Health{Name: "g", Err: assert.AnError})
		assert.Equal(t, voting.NotAbleUnhealthy, a.view().Inability)
	}
	a.after(timing.Renew)
	a.step(Health{Name: "g"})
	assert.Equal(t, voting.NotAbleHold, a.view().Inability)
}

func TestALeaseIsNotOverBeforeItsServiceHasAnswered(t *testing.T) {
	a := following()
	a.healthy = true
	a.after(timing.Renew)
	a.step(Retire{Name: "g"})
	assert.False(t, a.gone)
	shown := len(a.shown)
	a.step(Health{Name: "g", Err: assert.AnError})
	assert.True(t, a.gone)
	assert.Len(t, a.shown, shown)
	assert.Empty(t, a.told)
}

// A candidate whose ability comes and goes must be able for longer each time, until it has been able for
// long.
func TestTheHoldGrows(t *testing.T) {
	a := following()
	fail := func() {
		a.step(Health{Name: "g", Err: assert.AnError})
		require.Equal(t, voting.NotAbleUnhealthy, a.view().Inability)
	}
	recovers := func() (held time.Duration) {
		a.step(Health{Name: "g"})
		require.Equal(t, voting.NotAbleHold, a.view().Inability)
		for began := a.now; a.after(timing.TTL/2) != voting.Able; held = a.now - began {
			require.Less(t, held, 1000*timing.TTL)
		}
		return held + timing.TTL/2
	}
	a.vouches = true
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 128} {
		fail()
		a.k.sessions[0].pending++ // for the answer
		assert.Equal(t, want*timing.TTL, recovers())
		a.k.sessions[0].pending++
	}
	fail()
	a.after(timing.TTL)
	fail()
	assert.Equal(t, 128*timing.TTL, recovers())
	a.after(longest*timing.TTL + 1)
	fail()
	assert.Equal(t, timing.TTL, recovers(), "it had been able for long")
}

// A Lead that does not return is noticed although nobody vouches.
func TestALeadThatDoesNotReturnIsAnInability(t *testing.T) {
	a := attend(0, nil)
	a.after(time.Minute)
	require.True(t, a.leads())
	a.hangs = true
	a.step(Resign{Name: "g"})
	assert.Equal(t, voting.Able, a.after(timing.TTL))
	assert.Equal(t, voting.NotAbleLead, a.after(1))
	assert.Equal(t, memberstate.Candidate, a.view().Role)
	a.hangs = false
	assert.Equal(t, voting.NotAbleHold, a.after(timing.Renew/4))
	a.after(timing.TTL)
	assert.True(t, a.leads())
}

// After the process stood still, Lead has some time to return.
func TestALeadThatStoodStillHasTimeToReturn(t *testing.T) {
	a := attend(0, nil)
	a.after(time.Minute)
	a.hangs = true
	a.step(Resign{Name: "g"})
	a.now += time.Hour
	assert.Equal(t, voting.Able, a.after(timing.TTL/2))
	assert.Equal(t, voting.NotAbleLead, a.after(1))
}

func TestALeadThatReturnedByItselfIsOver(t *testing.T) {
	a := attend(0, nil)
	a.after(time.Minute)
	require.True(t, a.leads())
	a.hangs = true // it has returned before
	a.step(Returned{Name: "g"})
	a.hangs, a.returning = false, false
	assert.Equal(t, voting.Able, a.after(time.Minute))
}

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

// An order needs no hold. If something else is wrong, that is shown.
func TestAnOrderNotToLeadNeedsNoHold(t *testing.T) {
	a := following()
	a.vouches = true
	a.step(Electable{Name: "g"})
	assert.Equal(t, voting.NotAbleOrdered, a.view().Inability)
	a.step(Electable{Name: "g", May: true})
	assert.Equal(t, voting.Able, a.view().Inability)
	a.k.sessions[0].pending++ // for the answer
	a.step(Health{Name: "g", Err: assert.AnError})
	a.step(Electable{Name: "g"})
	assert.Equal(t, voting.NotAbleUnhealthy, a.view().Inability)
	a.k.sessions[0].pending++
	a.step(Health{Name: "g"})
	assert.Equal(t, voting.NotAbleOrdered, a.view().Inability)
	a.step(Electable{Name: "g", May: true})
	assert.Equal(t, voting.NotAbleHold, a.view().Inability, "the hold of the failure has not ended")
	assert.Equal(t, voting.Able, a.after(timing.TTL))
}

// A lease that has expired is left before anything is shown, although the keeper has not ticked.
func TestNoLeaderIsShownWithoutALease(t *testing.T) {
	for _, in := range []Input{Electable{Name: "g"}, Health{Name: "g", Err: assert.AnError}} {
		a := attend(0, nil)
		a.after(time.Minute)
		require.True(t, a.leads())
		a.k.sessions[0].pending++ // for an answer
		a.now, a.shown = a.k.sessions[0].office.until, nil
		a.step(in)
		for _, v := range a.shown {
			assert.NotEqual(t, memberstate.Leader, v.Role)
		}
		assert.Equal(t, voting.DepartedLeaseLapsed, a.view().Departure)
	}
}

// A failure is reported with its cause, once until the candidate is able again.
func TestAFailureIsToldOnce(t *testing.T) {
	a := following()
	a.vouches = true
	for range 3 {
		a.k.sessions[0].pending++ // for the answer
		a.step(Health{Name: "g", Err: assert.AnError})
		a.k.sessions[0].pending++
		a.step(Health{Name: "g"})
	}
	assert.Equal(t, []Note{{Topic: NotAble, Name: "g", Term: 1, Why: voting.NotAbleUnhealthy, Err: assert.AnError}}, a.told)
	a.after(time.Hour)
	a.vouches = false
	a.after(vouch + 1)
	assert.Equal(t, Note{Topic: NotAble, Name: "g", Term: 1, Why: voting.NotAbleSilent}, a.told[1])
}

// A candidate says why it takes a leader for gone.
func TestADepartureSaysWhy(t *testing.T) {
	led := func(a *attended) {
		a.freed()
		a.after(10 * timing.Poll)
	}
	for name, c := range map[string]struct {
		want    Departure
		last    string
		happens func(a *attended)
	}{
		"its lease has expired": {voting.DepartedSilent, "b#1", func(a *attended) {
			a.record.Heir, a.until = "c", a.now // an heir, so that nobody takes it at once
		}},
		"it has released the lease": {voting.DepartedHandedOver, "b#1", func(a *attended) {
			a.record.Heir = "c"
			a.freed()
		}},
		"another leads":     {voting.DepartedOutvoted, "b#1", func(a *attended) { a.taken() }},
		"it was forced":     {voting.DepartedOutvoted, "b#1", func(a *attended) { a.record.Term, a.record.Holder, a.record.Heir = 2, "", "c" }},
		"it leads a second": {voting.DepartedOutvoted, "b#1", func(a *attended) { a.record.Term++ }},
		"it has resigned": {voting.DepartedResigned, "a#1", func(a *attended) {
			led(a)
			a.step(Resign{Name: "g"})
		}},
		"its own lease has run out": {voting.DepartedLeaseLapsed, "a#1", func(a *attended) {
			led(a)
			a.now += timing.TTL
			a.step(Tick{})
		}},
		"its own lease was taken away": {voting.DepartedOutvoted, "a#1", func(a *attended) {
			led(a)
			at, renewal := a.asks(t, a.k, a.now, Renew)
			a.now = at
			a.step(&Answer{Number: renewal.Number})
		}},
	} {
		a := attend(0, nil)
		a.taken()
		a.after(time.Minute)
		require.Equal(t, "b#1", a.view().Leader)
		require.Empty(t, a.view().Last)
		c.happens(a)
		a.after(timing.Poll)
		assert.Equal(t, c.want, a.view().Departure, name)
		assert.Equal(t, c.last, a.view().Last, name)
	}
}
