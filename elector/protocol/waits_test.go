// How long a machine waits, in cases where a wrong wait would only make it slower.

package protocol

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

func TestNoAlarmHasTheNumberZero(t *testing.T) {
	for before, want := range map[uint32]uint32{0: 1, 1: 2, math.MaxUint32: 1} {
		m, out := Machine{alarm: before}, Output{}
		m.arm(&out, time.Second, time.Second)
		assert.Equal(t, want, out.Alarm.Number)
		assert.Equal(t, want, m.alarm)
	}
}

// A lone voter does not wait for answers.
func TestAGroupOfOneIsLedByTheFirstAlarm(t *testing.T) {
	for _, preVote := range []bool{true, false} {
		one := memberstate.SetOf(1)
		r := &Rules{Self: 1, Voters: one, All: one, Timing: DefaultTiming(), PreVote: preVote, Ranks: true}
		m, out := NewMachine(r, memberstate.HardState{}), Output{}
		m.Step(r, &Input{Kind: Start}, &out)
		in := Input{Kind: Ring, Number: out.Alarm.Number}
		for m.Step(r, &in, &out); out.NeedLedger; m.Step(r, &in, &out) {
			in.HasLedger, in.LedgerTerm = true, out.LedgerTerm
		}
		assert.Equal(t, memberstate.Leader, m.Role)
	}
}

func TestWithoutRanksLotsAreDrawn(t *testing.T) {
	r := &Rules{Timing: DefaultTiming()}
	m, out := Machine{}, Output{}
	m.armSlot(r, &out, memberstate.Nobody)
	assert.Equal(t, Alarm{Number: 1, Min: 0, Max: r.Timing.MaxVoteWait - r.Timing.MinVoteWait}, out.Alarm)
}

// D13: the leader's veto is awaited for as long as it can be on its way, if that is known.
func TestAVetoIsAwaited(t *testing.T) {
	r := &Rules{Timing: DefaultTiming()}
	for roundTrip, want := range map[uint32]time.Duration{0: r.Timing.RoundTimeout, 2000: 3 * time.Millisecond} {
		m, out := Machine{roundTrip: roundTrip, fromHint: true}, Output{}
		m.openRound(r, &out, preVoting, 0, 1)
		assert.Equal(t, Alarm{Number: 1, Min: want, Max: want}, out.Alarm)
	}
}

// D14: a preferred leader that cannot take over is asked ever more rarely, but never stops being asked.
func TestOffersThatAreDeclinedBecomeRare(t *testing.T) {
	r := &Rules{Preferred: memberstate.SetOf(2), Timing: DefaultTiming()}
	leak := uint32(r.Timing.Leak)
	for declined, want := range map[uint8]uint32{0: 2 * leak, 1: 4 * leak, 6: 128 * leak, 7: 128 * leak} {
		m := Machine{handover: Handover{Phase: Probing, Target: 2}, office: office{declined: declined, beat: 10}}
		m.endHandover(r, &Output{})
		assert.Equal(t, 10+want, m.office.nextOffer, "after %d", declined)
	}
}

func TestASlotIsLongerThanAnElection(t *testing.T) {
	r := &Rules{Timing: DefaultTiming()}
	for roundTrip, want := range map[time.Duration]time.Duration{
		0:                      r.Timing.Detection() / 30,
		100 * time.Millisecond: 150 * time.Millisecond,
	} {
		m := Machine{roundTrip: uint32(roundTrip.Microseconds())}
		assert.Equal(t, want, m.slot(r))
	}
}

// If the wait were shorter than the round trip, each of two candidates would stand again while the other still asks.
func TestLongRoundTripsMakeTheNextAttemptLater(t *testing.T) {
	r := &Rules{Timing: DefaultTiming()}
	for roundTrip, want := range map[time.Duration]Alarm{
		time.Millisecond:      {Number: 1, Min: r.Timing.MinVoteWait, Max: r.Timing.MaxVoteWait},
		50 * time.Millisecond: {Number: 1, Min: 50 * time.Millisecond, Max: 150 * time.Millisecond},
	} {
		m, out := Machine{roundTrip: uint32(roundTrip.Microseconds())}, Output{}
		m.armVoteWait(r, &out)
		assert.Equal(t, want, out.Alarm, "round trips of %v", roundTrip)
	}
}

// Preferred voters have the first turns, and the last leader the very last one, preferred or not. Observers have none.
func TestTurnsOfAllKinds(t *testing.T) {
	for term := range memberstate.Term(4) {
		for last := range memberstate.Seat(5) { // nobody's, too
			for _, preferred := range []memberstate.Set{0, memberstate.SetOf(2), memberstate.SetOf(3), memberstate.SetOf(1, 4), memberstate.SetOf(1, 2, 3, 4)} {
				assertTurns(t, term, last, preferred)
			}
		}
	}
}

func assertTurns(t *testing.T, term memberstate.Term, last memberstate.Seat, preferred memberstate.Set) {
	t.Helper()
	voters := memberstate.SetOf(1, 2, 3, 4)
	byRank := map[int]memberstate.Seat{}
	for self := range voters.Seats() {
		r := &Rules{Self: self, Voters: voters, All: voters.With(5).With(6), Preferred: preferred, Timing: DefaultTiming()}
		m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: term}}}
		byRank[m.rank(r, last)] = self
	}
	assert.Len(t, byRank, 4, "each has one of its own")
	seen := false
	for rank := range 4 {
		seat := byRank[rank]
		assert.NotZero(t, seat)
		assert.Equal(t, seat == last, rank == 3 && last != memberstate.Nobody)
		assert.False(t, seen && seat != last && preferred.Has(seat), "a preferred one comes late")
		seen = seen || !preferred.Has(seat)
	}
}

// A voter that comes last in one term comes first in another.
func TestTurnsRotateWithTheTerm(t *testing.T) {
	r := threeRules()
	first := map[memberstate.Seat]bool{}
	for term := range memberstate.Term(3) {
		for self := range r.Voters.Seats() {
			m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: term}}}
			r.Self = self
			first[self] = first[self] || m.rank(r, memberstate.Nobody) == 0
		}
	}
	assert.Equal(t, map[memberstate.Seat]bool{1: true, 2: true, 3: true}, first)
}
