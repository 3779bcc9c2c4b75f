// Rules that are best tested on one machine with one question.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A process that was stopped sees one answer come very late. The other answers count more; if the
// network has really become slow, they show it again and again.
func TestOneLongRoundTripRulesNothing(t *testing.T) {
	r := &Rules{Timing: DefaultTiming()}
	var m Machine
	for range 20 {
		m.observe(r, time.Millisecond)
	}
	m.observe(r, 3*time.Second)
	assert.LessOrEqual(t, m.measured(), 2*time.Millisecond+r.shortestSlot())
	for range 8 {
		m.observe(r, 300*time.Millisecond)
	}
	assert.Equal(t, 300*time.Millisecond, m.measured())
	for range 8 {
		m.observe(r, 3*time.Second)
	}
	assert.Equal(t, 400*time.Millisecond, m.measured(), "with longer ones no leader could hold out")
	for range 50 {
		m.observe(r, time.Millisecond)
	}
	assert.Less(t, m.measured(), 10*time.Millisecond)
	m.observe(r, -time.Second)
	assert.Positive(t, m.measured(), "what cannot be is not taken in")
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

// A won round leaves nothing behind for the next one. A lost one leaves the doubt whether the leader
// lives.
func TestARoundLeavesNothingBehind(t *testing.T) {
	all := memberstate.SetOf(1, 2, 3)
	r := &Rules{Self: 1, Voters: all, All: all, Timing: DefaultTiming(), PreVote: true}
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1, Vote: 1}}, round: round{phase: voting, instantRevotes: 2}, fromHint: true}
	m.conclude(r, &Input{}, &Output{}, Passed)
	assert.Equal(t, memberstate.Leader, m.Role)
	assert.Zero(t, m.round.instantRevotes)
	assert.False(t, m.fromHint)
	for _, vetoed := range []bool{true, false} {
		m := Machine{round: round{phase: preVoting, vetoed: vetoed, instantRevotes: 2}, fromHint: true}
		m.conclude(r, &Input{}, &Output{}, WaitToRevote)
		assert.True(t, m.fromHint)
		assert.Zero(t, m.round.instantRevotes)
	}
}

// D19: a candidate that waits to stand adopts larger terms as it hears of them, and its wait goes on.
// It begins anew when the member votes, or when its own round was cut short.
func TestAWaitIsNotSetAnew(t *testing.T) {
	r := &Rules{Self: 1, Voters: memberstate.SetOf(1, 2, 3), All: memberstate.SetOf(1, 2, 3), Timing: DefaultTiming()}
	m := NewMachine(r, memberstate.HardState{Term: 1})
	asks := func(term memberstate.Term, ledger uint64) (rpc.Result, Alarm) {
		q := Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Term: term, Ledger: memberstate.Position{Index: ledger}}}
		out := stepWithLedger(r, &m, Input{Kind: Receive, Message: q}, memberstate.Position{Index: 5})
		return out.Reply.Result, out.Alarm
	}
	result, first := asks(2, 4)
	assert.Equal(t, rpc.RejectTermNotReady, result)
	assert.NotZero(t, first, "until now it waited for its leader")
	for term := memberstate.Term(3); term < 9; term++ {
		result, alarm := asks(term, 4)
		assert.Equal(t, rpc.RejectTermNotReady, result)
		assert.Zero(t, alarm)
		assert.Equal(t, term, m.Term)
	}
	result, alarm := asks(8, 5)
	assert.Equal(t, rpc.Accept, result)
	assert.NotZero(t, alarm, "whom it votes for has time to say that it leads")
	_, alarm = asks(9, 5)
	assert.NotZero(t, alarm, "and so has the next one to ask again")
	stepWithLedger(r, &m, Input{Kind: Ring, Number: m.alarm}, memberstate.Position{Index: 5})
	assert.Equal(t, voting, m.round.phase)
	_, alarm = asks(10, 4)
	assert.Equal(t, r.Timing.MinVoteWait, alarm.Min, "its own round was cut short")
}

// D20: a voter that refuses a candidate for its ledger stands in a larger term, because in this one the
// candidate and others like it have given their votes to the candidate.
func TestAVoterThatRefusesALedgerStandsInALargerTerm(t *testing.T) {
	for poor, want := range map[bool]memberstate.Term{true: 3, false: 2} {
		r := &Rules{Self: 1, Voters: memberstate.SetOf(1, 2, 3), All: memberstate.SetOf(1, 2, 3), Timing: DefaultTiming()}
		m := NewMachine(r, memberstate.HardState{Term: 1})
		ask := Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Term: 2}}}
		stepWithLedger(r, &m, ask, memberstate.Position{Index: 5})
		if poor {
			out := stepWithLedger(r, &m, ask, memberstate.Position{Index: 5})
			assert.Equal(t, rpc.RejectSmallLedgerEndIndex, out.Reply.Result)
		}
		out := stepWithLedger(r, &m, Input{Kind: Ring, Number: m.alarm}, memberstate.Position{Index: 5})
		assert.Equal(t, want, out.Send.Term, "it has refused: %t", poor)
	}
}

// stepWithLedger steps a machine whose engine answers where its ledger ends.
func stepWithLedger(r *Rules, m *Machine, in Input, end memberstate.Position) (out Output) {
	for m.Step(r, &in, &out); out.NeedLedger; m.Step(r, &in, &out) {
		in.HasLedger, in.LedgerTerm, in.Ledger = true, out.LedgerTerm, end
	}
	return out
}

// D11: an answer without a promise, such as that of a member of another version, keeps a leader in
// office but gives it no lease. A promise that the newest answer does not renew is taken back.
func TestOnlyAPromiseGivesALease(t *testing.T) {
	r := threeRules()
	r.Lease = r.Timing.Detection()
	m := elected(r)
	answers := func(promised bool) {
		q := Message{From: 2, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Promised: promised, Round: m.office.beat, Term: 1, Asked: 1}}
		stepWithLedger(r, &m, Input{Kind: Receive, Message: q}, memberstate.Position{})
	}
	answers(false)
	assert.Equal(t, m.office.beat, m.office.heardBeat)
	assert.Zero(t, m.LeaseBeat())
	answers(true)
	assert.Equal(t, m.office.beat, m.LeaseBeat())
	promised := m.office.beat
	stepWithLedger(r, &m, Input{Kind: Ring, Number: m.alarm}, memberstate.Position{})
	answers(false)
	assert.Equal(t, promised, m.LeaseBeat())
}

// A leader that a quorum heard has a detection time to be heard again, even if a voter answered an
// earlier beat that it follows another leader.
func TestAContradictionIsForgottenWithItsBeat(t *testing.T) {
	r := threeRules()
	m := elected(r)
	answer := func(from memberstate.Seat, result rpc.Result) {
		m.Step(r, &Input{Kind: Receive, Message: Message{From: from, Body: rpc.Body{
			Kind: rpc.HeartbeatResponse, Result: result, Round: m.office.beat, Term: 1, Asked: 1,
		}}}, new(Output))
	}
	answer(2, rpc.InconsistentLeader)
	answer(3, rpc.Success)
	for beat := range r.Timing.Leak {
		m.Step(r, &Input{Kind: Ring, Number: m.alarm}, new(Output))
		assert.Equal(t, memberstate.Leader, m.Role, "%d beats were not answered", beat)
	}
	m.Step(r, &Input{Kind: Ring, Number: m.alarm}, new(Output))
	assert.Equal(t, memberstate.Candidate, m.Role)
}

// A vote counts for the term that was asked for. Another incarnation uses the same round numbers again,
// and a vouched vote has none.
func TestAVoteForAnotherTermDoesNotCount(t *testing.T) {
	for _, asked := range []memberstate.Term{1, 2, 3} {
		for mark, answered := range map[rpc.Mark]rpc.Mark{rpc.Plain: rpc.Plain, rpc.Won: rpc.Won, rpc.Handed: rpc.Vouched} {
			r := threeRules()
			m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 2, Vote: 1}}}
			m.openRound(r, new(Output), voting, mark, 2)
			var out Output
			m.Step(r, &Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{
				Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: answered, Round: m.ballot, Term: asked, Asked: asked,
			}}}, &out)
			assert.Equal(t, asked == 2, m.Role == memberstate.Leader, "a vote in term %d for one asked for in 2, marked %v", asked, mark)
			assert.Equal(t, asked != 2, out.Dropped == DropStaleAnswer)
		}
	}
}

// An answer to a beat counts for the leader of that term.
func TestAnAnswerToAnotherTermsBeatDoesNotCount(t *testing.T) {
	r := threeRules()
	for asked, counts := range map[memberstate.Term]bool{0: false, 1: true, 2: false} {
		m := elected(r)
		var out Output
		m.Step(r, &Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{
			Kind: rpc.HeartbeatResponse, Result: rpc.Success, Round: m.office.beat, Term: asked, Asked: asked,
		}}}, &out)
		assert.Equal(t, counts, m.office.heardBeat == m.office.beat, "it leads term 1, and %d was answered", asked)
		assert.Equal(t, !counts, out.Dropped == DropStaleAnswer)
	}
}

// All who wait for their turn count in the same slots: in those of the leader's measure, as long
// as that can be.
func TestAFollowerTakesItsLeadersMeasure(t *testing.T) {
	a := followingAlone(t, false)
	for _, c := range []struct{ told, want time.Duration }{
		{20 * time.Millisecond, 20 * time.Millisecond},
		{time.Millisecond, time.Millisecond},
		{0, time.Millisecond},
		{100 * time.Hour, a.rules.longestRoundTrip()},
	} {
		body := a.beat(1, 2)
		body.RoundTrip = c.told
		require.Equal(t, rpc.Success, a.asked(theLeader, body))
		assert.Equal(t, c.want, a.machine.measured(), "after %v", c.told)
	}
}
