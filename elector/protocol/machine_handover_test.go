// A leader hands over: phases, answers and resignations (D14).

package protocol

import (
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

func TestOnlyALeaderHandsOver(t *testing.T) {
	for _, a := range []*alone{startedAlone(t), followingAlone(t, false)} {
		before := a.machine
		for _, in := range []Input{{Kind: Transfer, Seat: 2}, {Kind: Transfer}, {Kind: Resign}} {
			a.give(in)
			assert.Equal(t, before, a.machine)
			assert.Equal(t, Output{}, a.out)
		}
	}
}

// The target alone is asked whether it can take over, with the end of the ledger when the handover began. The other
// voters are told of the final end with the target, so that they vote for it, unless nobody waits for the handover.
func TestWhichMembersAreToldOfAHandover(t *testing.T) {
	for what, c := range map[string]struct {
		begin func(a *alone)
		told  memberstate.Set
	}{
		"to a voter that was named": {func(a *alone) { a.give(Input{Kind: Transfer, Seat: 2}) }, memberstate.SetOf(2, 3)},
		"to any voter":              {func(a *alone) { a.give(Input{Kind: Transfer}) }, memberstate.SetOf(2, 3)},
		"to resign":                 {func(a *alone) { a.give(Input{Kind: Resign}) }, memberstate.SetOf(2, 3)},
		"to a preferred voter": {func(a *alone) {
			a.rules.Preferred = memberstate.SetOf(2)
			a.machine.office.nextOffer = a.machine.Beat()
			a.acknowledges(2, a.machine.Beat())
		}, memberstate.SetOf(2)},
		"because it is not well": {func(a *alone) {
			a.give(Input{Kind: Ability, Inability: NotAbleUnhealthy})
			for range 2 {
				a.ring()
				a.acknowledges(2, a.machine.Beat())
			}
		}, memberstate.SetOf(2, 3)},
	} {
		t.Run(what, func(t *testing.T) {
			a := leadingAlone(t, false)
			a.rules.All = a.rules.Voters.With(4)
			a.acknowledges(2, a.machine.Beat())
			a.ledger = memberstate.Position{Term: 1, Index: 5}
			c.begin(a)
			word := Message{Leader: 2, Body: rpc.Body{Kind: rpc.TakeLeadership, Mark: rpc.PreVote, Round: a.machine.Beat(), Term: 1, Ledger: a.ledger}}
			assert.Equal(t, memberstate.SetOf(2), a.out.To)
			assert.Equal(t, word, a.out.Send)
			a.accepts(2)
			assert.Zero(t, a.out.To)
			a.ledger.Index = 7
			a.give(Input{Kind: Paused})
			assert.Equal(t, c.told, a.out.To)
			word.Mark, word.Ledger = rpc.Plain, a.ledger
			assert.Equal(t, word, a.out.Send)
		})
	}
}

// An answer counts while the leader looks for a target, if it answers the question of this term. A refusal of the
// target leads to the next voter, unless the order names the target.
func TestWhichAnswersOfATargetCount(t *testing.T) {
	behind, not := rpc.LedgerBehind, rpc.NotFollowing
	for what, c := range map[string]struct {
		named  bool
		from   memberstate.Seat
		result rpc.Result
		mark   rpc.Mark
		asked  memberstate.Term
		phase  HandoverPhase
		target memberstate.Seat
		stale  bool
	}{
		"it can":                           {false, 2, rpc.Accept, rpc.PreVote, 1, Pausing, 2, false},
		"another one can":                  {false, 3, rpc.Accept, rpc.PreVote, 1, Pausing, 3, false},
		"it is behind":                     {false, 2, behind, rpc.PreVote, 1, Probing, 3, false},
		"it does not follow":               {false, 2, not, rpc.PreVote, 1, Probing, 3, false},
		"another one is behind":            {false, 3, behind, rpc.PreVote, 1, Probing, 2, false},
		"it can, of an earlier term":       {false, 2, rpc.Accept, rpc.PreVote, 0, Probing, 2, true},
		"it was behind when told to stand": {false, 2, behind, rpc.Plain, 1, Probing, 2, true},
		"named: it can":                    {true, 2, rpc.Accept, rpc.PreVote, 1, Pausing, 2, false},
		"named: it is behind":              {true, 2, behind, rpc.PreVote, 1, Probing, 2, false},
		"named: another one can":           {true, 3, rpc.Accept, rpc.PreVote, 1, Probing, 2, true},
		"an observer can":                  {false, 4, rpc.Accept, rpc.PreVote, 1, Probing, 2, true},
	} {
		t.Run(what, func(t *testing.T) {
			a := leadingAlone(t, false)
			a.rules.All = a.rules.Voters.With(4)
			a.acknowledges(2, a.machine.Beat())
			order := Input{Kind: Transfer}
			if c.named {
				order.Seat = 2
			}
			a.give(order)
			require.EqualValues(t, 2, a.machine.Handover().Target)
			a.acknowledges(3, a.machine.Beat())
			a.hears(c.from, 1, rpc.Body{Kind: rpc.TakeLeadershipResponse, Result: c.result, Mark: c.mark, Asked: c.asked})
			assert.Equal(t, c.phase, a.machine.Handover().Phase)
			assert.Equal(t, c.target, a.machine.Handover().Target)
			assert.Equal(t, c.stale, a.out.Dropped != 0)
		})
	}
}

// A voter that is to be asked first is, if it is one of those that may be asked. If it cannot take over, another one is asked.
func TestWhichVoterIsAskedFirst(t *testing.T) {
	for what, c := range map[string]struct {
		first    memberstate.Seat
		hindered func(m *Machine, r *Rules)
		asked    memberstate.Seat
	}{
		"nobody in particular":          {0, nil, 2},
		"the one that is":               {2, nil, 2},
		"another one":                   {3, nil, 3},
		"one that is silent":            {3, func(m *Machine, _ *Rules) { m.office.acks = [recentBeats]memberstate.Set{memberstate.SetOf(1, 2)} }, 2},
		"one that is not able":          {3, func(m *Machine, _ *Rules) { m.unable = memberstate.SetOf(3) }, 2},
		"one whose node does not serve": {3, func(_ *Machine, r *Rules) { r.Maintenance = &Maintenance{LastChoice: memberstate.SetOf(3)} }, 2},
		"one that drains, although the one that serves is not able": {3, func(m *Machine, r *Rules) {
			m.unable, r.Maintenance = memberstate.SetOf(2), &Maintenance{LastChoice: memberstate.SetOf(3)}
		}, 2},
		"an observer": {4, nil, 2},
		"the leader":  {1, nil, 2},
	} {
		t.Run(what, func(t *testing.T) {
			a := leadingAlone(t, false)
			a.rules.All = a.rules.Voters.With(4)
			a.acknowledges(2, a.machine.Beat())
			a.acknowledges(3, a.machine.Beat())
			if c.hindered != nil {
				c.hindered(&a.machine, a.rules)
			}
			a.give(Input{Kind: Transfer, First: c.first})
			require.Equal(t, c.asked, a.machine.Handover().Target)
			assert.Equal(t, ToAnyone, a.machine.Handover().Reason)
			if c.asked == 3 {
				a.hears(3, 1, rpc.Body{Kind: rpc.TakeLeadershipResponse, Result: rpc.LedgerBehind, Mark: rpc.PreVote, Asked: 1})
				assert.EqualValues(t, 2, a.machine.Handover().Target)
			}
		})
	}
}

// A pause that no handover waits for, or no longer, changes nothing.
func TestAPauseGoesOnOnlyWhereItIsAwaited(t *testing.T) {
	for _, phase := range []HandoverPhase{NoHandover, Probing, Pausing, Taking} {
		a := leadingAlone(t, true)
		a.machine.handover = Handover{Phase: phase, Target: 2, patience: 2}
		before := a.machine
		a.give(Input{Kind: Paused})
		assert.Equal(t, phase == Pausing, before != a.machine, "%v", phase)
		assert.Equal(t, phase == Pausing, a.out.To != 0, "%v", phase)
	}
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

// The last write before the pause may be on its way still. The target is told again as soon as it says so, but only so often
// until the next beat: its disk may hang.
func TestATargetThatIsBehindIsToldAgain(t *testing.T) {
	a := leadingAlone(t, false)
	a.give(Input{Kind: Transfer, Seat: 2})
	a.accepts(2)
	a.give(Input{Kind: Paused})
	require.Equal(t, memberstate.SetOf(2, 3), a.out.To)
	told := a.out.Send
	answers := func(from memberstate.Seat, result rpc.Result, mark rpc.Mark, asked memberstate.Term) {
		a.hears(from, 1, rpc.Body{Kind: rpc.TakeLeadershipResponse, Result: result, Mark: mark, Asked: asked})
	}
	for what, answer := range map[string]func(){
		"another one is behind":           func() { answers(3, rpc.LedgerBehind, rpc.Plain, 1) },
		"it does not follow":              func() { answers(2, rpc.NotFollowing, rpc.Plain, 1) },
		"it was behind when it was asked": func() { answers(2, rpc.LedgerBehind, rpc.PreVote, 1) },
		"it was behind in another term":   func() { answers(2, rpc.LedgerBehind, rpc.Plain, 0) },
	} {
		answer()
		assert.Zero(t, a.out.To, what)
		assert.NotZero(t, a.out.Dropped, what)
	}
	for range 2 {
		for range mostRepeats {
			answers(2, rpc.LedgerBehind, rpc.Plain, 1)
			assert.Equal(t, memberstate.SetOf(2), a.out.To, "the others know")
			assert.Equal(t, told, a.out.Send)
		}
		answers(2, rpc.LedgerBehind, rpc.Plain, 1)
		assert.Zero(t, a.out.To)
		a.acknowledges(3, a.machine.Beat())
		a.ring()
		told.Round = a.machine.Beat()
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
	a.accuses()
	assert.Zero(t, a.out.To)
	assert.True(t, a.idle())
	assert.Equal(t, Probing, a.machine.Handover().Phase)
}

// Without leases a handover that has failed leaves a term in which the leader can serve, so it needs no other.
func TestWithoutLeasesATransferThatFailsNeedsNoNewTerm(t *testing.T) {
	for leases, renews := range map[bool]bool{true: true, false: false} {
		a := leadingAlone(t, leases)
		a.machine.office.leaseVoid = true
		a.acknowledges(2, a.machine.Beat())
		assert.Equal(t, renews, a.out.Send.Kind == rpc.VoteRequest)
	}
}

// An order to resign joins a handover that is under way, and when it is withdrawn the handover goes on.
func TestAResignationJoinsATransfer(t *testing.T) {
	a := leadingAlone(t, false)
	a.give(Input{Kind: Transfer, Seat: 3})
	assert.False(t, a.machine.Handover().Resigning)
	a.give(Input{Kind: Resign})
	assert.True(t, a.machine.Handover().Resigning)
	assert.EqualValues(t, 3, a.machine.Handover().Target)
	a.give(Input{Kind: Remain})
	assert.False(t, a.machine.Handover().Resigning)
	assert.Equal(t, Probing, a.machine.Handover().Phase, "the transfer goes on")
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
func TestALeaderThatResignsRests(t *testing.T) {
	for _, voters := range []memberstate.Set{memberstate.SetOf(1), memberstate.SetOf(1, 2, 3)} {
		a := leadingAlone(t, false)
		a.rules.Voters = voters
		a.give(Input{Kind: Resign})
		for a.machine.Role == memberstate.Leader { // no voter takes over
			a.acknowledges(2, a.machine.Beat())
			a.ring()
		}
		rest := 2 * a.rules.Timing.Detection()
		assert.Equal(t, rest, a.out.Alarm.Min)
		assert.Equal(t, rest+a.rules.Timing.MaxVoteWait, a.out.Alarm.Max, "two that rest do not stand at the same moment")
	}
}

// So it does if the heir was found, and has been told to stand.
func TestALeaderThatResignsRestsInWhateverPhase(t *testing.T) {
	for _, phase := range []HandoverPhase{Probing, Pausing, Taking} {
		a := leadingAlone(t, false)
		a.machine.handover = Handover{Phase: phase, Target: 2, Resigning: true, patience: 1}
		a.ring()
		assert.Equal(t, memberstate.Candidate, a.machine.Role, "%v", phase)
		assert.Equal(t, 2*a.rules.Timing.Detection(), a.out.Alarm.Min)
	}
}
