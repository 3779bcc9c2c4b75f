// A leader hands over: phases, targets, offers and resignations (D14).

package protocol

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// accepts says that a voter could take over.
func (a *alone) accepts(voter memberstate.Seat) {
	a.Helper()
	a.hears(voter, 1, rpc.Body{Kind: rpc.TakeLeadershipResponse, Result: rpc.Accept, Mark: rpc.PreVote, Asked: a.machine.Term})
}

func TestOneHandoverAtATime(t *testing.T) {
	r := threeRules()
	m := elected(r)
	m.handover.Phase, m.handover.Target = Probing, 2
	before, out := m, Output{}
	m.Step(r, &Input{Kind: Transfer, Seat: 3, HasLedger: true, LedgerTerm: 1}, &out)
	assert.Equal(t, before, m)
	assert.Equal(t, Output{}, out)
}

// A leader that hands over does not ask for another term meanwhile.
func TestAHandoverEndsTheLeadersRound(t *testing.T) {
	r := threeRules()
	m, out := elected(r), Output{}
	m.round.phase = preVoting
	m.Step(r, &Input{Kind: Transfer, Seat: 3, HasLedger: true, LedgerTerm: 1}, &out)
	assert.Equal(t, Probing, m.handover.Phase)
	assert.Equal(t, idle, m.round.phase)
}

// D14: each phase of a handover has a detection time, whatever the one before has left of its own.
func TestEachPhaseOfAHandoverHasItsTime(t *testing.T) {
	a := leadingAlone(t, false)
	lasts := func(phase HandoverPhase) {
		t.Helper()
		for range a.rules.Timing.Leak - 1 {
			a.acknowledges(3, a.machine.Beat())
			a.ring()
			require.Equal(t, phase, a.machine.Handover().Phase)
		}
	}
	a.give(Input{Kind: Transfer, Seat: 2})
	lasts(Probing)
	a.accepts(2)
	lasts(Pausing)
	a.give(Input{Kind: Paused})
	lasts(Taking)
	a.acknowledges(3, a.machine.Beat())
	a.ring()
	assert.Equal(t, NoHandover, a.machine.Handover().Phase)
	assert.Equal(t, memberstate.Leader, a.machine.Role)
}

// What may have been lost is said again with the target's next sign of life, and to nobody else's.
// While the engine pauses its writes there is nothing to say.
func TestAHandoversWordsAreRepeated(t *testing.T) {
	a := leadingAlone(t, false)
	for _, c := range []struct {
		goOn  func()
		says  bool
		marks rpc.Mark
	}{
		{func() { a.give(Input{Kind: Transfer, Seat: 2}) }, true, rpc.PreVote},
		{func() { a.accepts(2) }, false, 0},
		{func() { a.give(Input{Kind: Paused}) }, true, rpc.Plain},
	} {
		c.goOn()
		phase := a.machine.Handover().Phase
		for _, alive := range []memberstate.Seat{2, 3} {
			a.acknowledges(alive, a.machine.Beat())
			says := a.out.To != 0
			assert.Equal(t, c.says && alive == 2, says, "%v, after a sign of life of %d", phase, alive)
			if says {
				assert.Equal(t, rpc.TakeLeadership, a.out.Send.Kind)
				assert.Equal(t, c.marks, a.out.Send.Mark)
			}
		}
	}
}

// A step sends one message. A beat that goes out early, for voters that are ready now, is sent before
// the target of a handover is told to stand, because the target answers that beat, too.
func TestAnEarlyBeatComesBeforeAHandover(t *testing.T) {
	all := memberstate.SetOf(1, 2, 3, 4, 5)
	r := &Rules{Self: 1, Voters: all, All: all, Timing: DefaultTiming()}
	m := Machine{
		State:  memberstate.State{HardState: memberstate.HardState{Term: 1, Vote: 1}, Role: memberstate.Leader, Leader: 1},
		office: office{beat: 5}, handover: Handover{Phase: Taking, Target: 2}, notReady: memberstate.SetOf(3),
	}
	m.office.acks[m.office.beat%recentBeats] = memberstate.SetOf(1)
	var out Output
	m.Step(r, &Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{
		Kind: rpc.HeartbeatResponse, Result: rpc.Success, Round: 5, Term: 1, Asked: 1,
	}}}, &out)
	assert.Equal(t, rpc.Heartbeat, out.Send.Kind)
	assert.Equal(t, r.others(), out.To)
}

// A leader that hands over does not ask for another term, whatever it hears.
func TestALeaderThatHandsOverAsksForNoTerm(t *testing.T) {
	a := leadingAlone(t, false)
	a.give(Input{Kind: Transfer, Seat: 3})
	a.accuses(2, 7)
	assert.Zero(t, a.out.To)
	assert.True(t, a.idle())
	assert.Equal(t, Probing, a.machine.Handover().Phase)
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
	r := threeRules()
	m := elected(r)
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

// The first offer to a preferred voter is due with the beat that nextOffer names.
func TestAnOfferIsMadeWhenItIsDue(t *testing.T) {
	r := threeRules()
	r.Preferred = memberstate.SetOf(2)
	for early, want := range map[uint32]HandoverPhase{0: Probing, 1: NoHandover} {
		m := elected(r)
		m.office.beat = m.office.nextOffer - early
		m.onVoterAlive(r, &Input{Message: Message{From: 2}, HasLedger: true, LedgerTerm: 1}, new(Output))
		assert.Equal(t, want, m.handover.Phase)
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

// An order to resign is not weakened by another order, to hand over.
func TestATransferDoesNotWithdrawAResignation(t *testing.T) {
	a := leadingAlone(t, false)
	a.give(Input{Kind: Resign})
	require.True(t, a.machine.Handover().Resigning)
	a.give(Input{Kind: Transfer, Seat: 3})
	assert.True(t, a.machine.Handover().Resigning)
}

// A leader that has resigned leaves the others two detection times to elect, whether there was a voter to hand over to
// or not.
func TestWhoeverResignsRests(t *testing.T) {
	for _, voters := range []memberstate.Set{memberstate.SetOf(1), memberstate.SetOf(1, 2, 3)} {
		a := leadingAlone(t, false)
		a.rules.Voters = voters
		a.give(Input{Kind: Resign})
		for a.machine.Role == memberstate.Leader { // no voter takes over
			a.acknowledges(2, a.machine.Beat())
			a.ring()
		}
		assert.Equal(t, 2*a.rules.Timing.Detection(), a.out.Alarm.Min)
	}
}
