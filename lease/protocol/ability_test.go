// When a candidate is not able to lead, and for how long it then is not.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	voting "github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

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

// A service that was silent before the process stood still is silent after it, and has failed once.
func TestAStandstillIsNoWord(t *testing.T) {
	a := following()
	a.after(vouch)
	require.Equal(t, voting.NotAbleSilent, a.after(1))
	for range 3 {
		a.now += time.Hour
		assert.Equal(t, voting.NotAbleSilent, a.after(0))
		assert.Equal(t, voting.NotAbleSilent, a.after(vouch))
	}
	a.vouches = true
	assert.Equal(t, voting.NotAbleHold, a.after(1))
	assert.Equal(t, voting.Able, a.after(timing.TTL))
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
	a.after(longest * timing.TTL)
	fail()
	assert.Equal(t, 128*timing.TTL, recovers(), "that is not longer yet")
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

// One that was overdue before is so after it, and has failed once.
func TestALeadThatWasOverdueHasNotReturned(t *testing.T) {
	a := attend(0, nil)
	a.after(time.Minute)
	a.hangs = true
	a.step(Resign{Name: "g"})
	a.after(timing.TTL)
	require.Equal(t, voting.NotAbleLead, a.after(1))
	for range 3 {
		a.now += time.Hour
		assert.Equal(t, voting.NotAbleLead, a.after(0))
		assert.Equal(t, voting.NotAbleLead, a.after(timing.TTL))
	}
	a.hangs = false
	assert.Equal(t, voting.NotAbleHold, a.after(timing.Renew/4))
	assert.Equal(t, voting.Able, a.after(timing.TTL))
}

// Its context ends only when the process runs again, if the lease has expired meanwhile. Then it has all its time.
func TestALeadWhoseLeaseExpiredUnnoticedHasTimeToReturn(t *testing.T) {
	a := attend(0, nil)
	a.after(time.Minute)
	require.True(t, a.leads())
	a.hangs = true
	a.now += time.Hour
	assert.Equal(t, voting.Able, a.after(timing.TTL))
	assert.False(t, a.leads())
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

// A service that has said why it is not able, and hangs since, is silent: its last word is out of date.
func TestAnAnswerOfAServiceThatHangsSinceDoesNotCount(t *testing.T) {
	a := following()
	a.healthy = true
	a.after(timing.Renew)
	require.Equal(t, 1, a.asked)
	a.step(Health{Name: "g", Err: assert.AnError})
	until := a.k.sessions[0].ability.heard + vouch
	assert.Equal(t, voting.NotAbleUnhealthy, a.after(until-a.now))
	assert.Equal(t, voting.NotAbleSilent, a.after(1))
}
