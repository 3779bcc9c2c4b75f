// To whom a leader hands over, and when it offers its office to a preferred voter (D14).

package protocol

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A leader hands over to another voter. If the order names none, it is the best.
func TestOnlyAVoterIsATarget(t *testing.T) {
	for named, target := range map[memberstate.Seat]memberstate.Seat{memberstate.Nobody: 2, 1: 0, 2: 2, 3: 3, 4: 0} {
		a := leadingAlone(t, false)
		a.rules.All = a.rules.Voters.With(4)
		a.acknowledges(2, a.machine.Beat())
		before := a.machine
		a.give(Input{Kind: Transfer, Seat: named})
		assert.Equal(t, target, a.machine.Handover().Target, "to %d", named)
		if target == memberstate.Nobody {
			assert.Equal(t, before, a.machine)
			assert.Equal(t, Output{}, a.out)
		}
	}
}

// Once a target has been found, the answer of another one changes nothing: it may be that the
// first has been told to stand.
func TestATargetThatWasFoundStays(t *testing.T) {
	for phase, goOn := range map[HandoverPhase]bool{Pausing: false, Taking: true} {
		a := leadingAlone(t, false)
		a.give(Input{Kind: Transfer})
		a.accepts(2)
		if goOn {
			a.give(Input{Kind: Paused})
		}
		a.accepts(3)
		assert.Equal(t, DropStaleAnswer, a.out.Dropped)
		assert.Equal(t, phase, a.machine.Handover().Phase)
		assert.EqualValues(t, 2, a.machine.Handover().Target)
	}
}

// At a beat the next voter is asked whether it can take over. The answer of the one before, which may be
// on its way, is as good, unless the order names another voter.
func TestTheFirstVoterThatCanTakeOverDoes(t *testing.T) {
	all := memberstate.SetOf(1, 2, 3)
	r := &Rules{Self: 1, Voters: all, All: all, Timing: DefaultTiming()}
	for why, target := range map[HandoverReason]memberstate.Seat{ToAnyone: 2, ToNamed: 3, ToPreferred: 3} {
		m := Machine{
			State:    memberstate.State{HardState: memberstate.HardState{Term: 1, Vote: 1}, Role: memberstate.Leader, Leader: 1},
			handover: Handover{Phase: Probing, Target: 3, Reason: why, patience: 2},
		}
		var out Output
		answer := Message{From: 2, Body: rpc.Body{Kind: rpc.TakeLeadershipResponse, Result: rpc.LedgerBehind, Mark: rpc.PreVote, Asked: 1}}
		m.Step(r, &Input{Kind: Receive, Message: answer}, &out)
		assert.EqualValues(t, 3, m.handover.Target, "the target stays the same")
		answer.Result = rpc.Accept
		m.Step(r, &Input{Kind: Receive, Message: answer}, &out)
		assert.Equal(t, target, m.handover.Target)
		assert.Equal(t, why == ToAnyone, m.handover.Phase == Pausing)
	}
}

// Voters that have answered one of the last two beats come in the order of their turns. One that
// declines is followed by the next, and the last one by the first.
func TestSuccessorsComeInTurn(t *testing.T) {
	for term := range memberstate.Term(5) {
		assertSuccessorsComeInTurn(t, term+1)
	}
}

func assertSuccessorsComeInTurn(t *testing.T, term memberstate.Term) {
	t.Helper()
	r := threeRules()
	m := elected(r)
	m.Term = term
	r.Voters = memberstate.SetOf(1, 2, 3, 4, 5)
	inTurn := []memberstate.Seat{2, 3, 4, 5}
	slices.SortFunc(inTurn, func(a, b memberstate.Seat) int { return m.turn(r, a, r.Self) - m.turn(r, b, r.Self) })
	assert.Equal(t, inTurn[0], m.successor(r, memberstate.Nobody))
	for i, seat := range inTurn {
		assert.Equal(t, inTurn[(i+1)%len(inTurn)], m.successor(r, seat))
	}
	for _, answered := range inTurn {
		m.office.acks = [recentBeats]memberstate.Set{}
		m.office.acks[(m.office.beat-1)%recentBeats] = memberstate.SetOf(1, answered)
		assert.Equal(t, answered, m.successor(r, memberstate.Nobody))
	}
}

// An observer answers every beat, but cannot take over.
func TestAnObserverIsNoSuccessor(t *testing.T) {
	r := threeRules()
	r.All = r.Voters.With(4)
	m := elected(r)
	m.office.acks[m.office.beat%recentBeats] = memberstate.SetOf(1, 4)
	assert.NotEqualValues(t, 4, m.successor(r, memberstate.Nobody))
	assert.NotEqualValues(t, 4, m.successor(r, 2))
}

// The first offer to a preferred voter is due a detection time after the election, whatever the number of the beat was
// then.
func TestAnOfferIsMadeADetectionTimeAfterTheElection(t *testing.T) {
	for _, before := range []uint32{0, 100, 1 << 31} {
		r := threeRules()
		r.Preferred = memberstate.SetOf(2)
		a := &alone{T: t, rules: r}
		a.machine.Term, a.machine.Vote, a.machine.office.beat = 1, 1, before
		a.machine.takeOffice(r, &a.out)
		for beat := 1; beat <= r.Timing.Leak; beat++ {
			a.acknowledges(2, a.machine.Beat())
			offered := a.out.Send.Kind == rpc.TakeLeadership
			due := a.machine.Beat()-before == uint32(r.Timing.Leak)
			assert.Equal(t, due, offered, "beat %d after %d", a.machine.Beat(), before)
			a.ring()
		}
	}
}

// An offer is due with the beat that nextOffer names, and after it. A leader that is preferred itself makes none.
func TestAnOfferIsMadeWhenItIsDue(t *testing.T) {
	for what, c := range map[string]struct {
		beat, nextOffer uint32
		preferred       memberstate.Set
		offers          bool
	}{
		"the beat before":                {9, 10, memberstate.SetOf(2), false},
		"the beat":                       {10, 10, memberstate.SetOf(2), true},
		"a later one":                    {99, 10, memberstate.SetOf(2), true},
		"the numbers have wrapped":       {3, math.MaxUint32, memberstate.SetOf(2), true},
		"the numbers will wrap":          {math.MaxUint32, 3, memberstate.SetOf(2), false},
		"the voter is not preferred":     {10, 10, memberstate.SetOf(3), false},
		"the leader is preferred itself": {10, 10, memberstate.SetOf(1, 2), false},
	} {
		a := leadingAlone(t, false)
		a.rules.Preferred = c.preferred
		a.machine.office.beat, a.machine.office.nextOffer = c.beat, c.nextOffer
		a.acknowledges(2, c.beat)
		assert.Equal(t, c.offers, a.machine.Handover().Phase == Probing, what)
	}
}

// Offers become rare by what preferred voters decline, and by no other handover.
func TestATransferThatFailsDelaysNoOffer(t *testing.T) {
	for target, delays := range map[memberstate.Seat]bool{2: true, 3: false} {
		r := threeRules()
		r.Preferred = memberstate.SetOf(2)
		m := elected(r)
		before := m.office
		m.handover = Handover{Phase: Probing, Target: target}
		m.endHandover(r, new(Output))
		assert.Equal(t, delays, before != m.office, "to %d", target)
	}
}
