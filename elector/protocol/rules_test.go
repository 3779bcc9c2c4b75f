// Rules that are best seen at one machine, asked one question.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// answerTo is a voter's answer to one of the leader's beats.
func answerTo(leader *actor, beat uint32) rpc.Body {
	term := leader.machine.Term
	return rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Promised: true, Round: beat, Term: term, Asked: term}
}

// D8, D11: an answer counts for the beat that it answers. Were it credited to a
// later one, the lease would run from a time at which nobody had promised it.
func TestAnAnswerCountsForItsOwnBeat(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), leases: true})
	leader := s.elect()
	s.run(time.Second)
	for _, a := range s.without(leader) {
		s.link(a, leader).cut = true
	}
	s.run(2 * leader.rules.Timing.Heartbeat)
	newest := leader.machine.office.beat
	leader.ask(s.without(leader)[0], answerTo(leader, newest-1))
	assert.Equal(t, newest-1, leader.machine.office.heardBeat)
	assert.Equal(t, newest-1, leader.machine.LeaseBeat())
	before := leader.machine
	leader.ask(s.without(leader)[1], answerTo(leader, newest+1))
	assert.Equal(t, before, leader.machine, "it counted an answer to a beat that it has not sent")
}

// D11: while its leader is not silent a voter refuses every other candidate, of
// whatever term, and adopts nothing.
func TestAStickyVoterStandsByItsLeader(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), leases: true})
	leader := s.elect()
	voter, other := s.without(leader)[0], s.without(leader)[1]
	for _, mark := range []rpc.Mark{rpc.Plain, rpc.Won, rpc.Handed} {
		body := voteFor(leader.machine.Term + 1)
		body.Mark = mark
		assert.Equal(t, rpc.RejectAlreadyHasLeader, voter.ask(other, body), "marked %v", mark)
	}
	assert.Equal(t, leader.machine.Term, voter.machine.Term)
	voter.give(Input{Kind: Stand})
	assert.Equal(t, memberstate.Follower, voter.machine.Role, "it stood on command")
}

// D14: the word of a candidate that it was handed the leadership is believed by
// who follows that very leader in that very term, and only for the next one.
func TestAHandoverIsHonouredByThoseWhoFollowTheGiver(t *testing.T) {
	honours := func(giver memberstate.Seat, step memberstate.Term) rpc.Result {
		s := newStage(t, stageOptions{members: threeVoters(), leases: true})
		leader := s.elect() // n2, on seat 3
		voter, other := s.without(leader)[0], s.without(leader)[1]
		body := voteFor(leader.machine.Term + step)
		body.Mark = rpc.Handed
		voter.receive(&Message{From: other.rules.Self, Leader: giver, Body: body})
		s.run(0)
		return voter.replied.Result
	}
	assert.Equal(t, rpc.Accept, honours(3, 1))
	assert.Equal(t, rpc.RejectAlreadyHasLeader, honours(2, 1), "another giver")
	assert.Equal(t, rpc.RejectAlreadyHasLeader, honours(memberstate.Nobody, 1), "no giver")
	assert.Equal(t, rpc.RejectAlreadyHasLeader, honours(3, 2), "another term")
}

// A leader that only observers answer has no quorum.
func TestObserversAreNoQuorum(t *testing.T) {
	members := append(memberstate.Voters("n0", "n1", "n2"), memberstate.Member{ID: "w0", Observer: true}, memberstate.Member{ID: "w1", Observer: true})
	s := newStage(t, stageOptions{members: members})
	leader := s.elect()
	for _, a := range s.actors {
		if a != leader && a.machine.Role != memberstate.Observer {
			a.crash()
		}
	}
	s.run(2 * leader.rules.Timing.Detection())
	assert.Equal(t, memberstate.Candidate, leader.machine.Role)
}

// D11: a leader may count on a longer lease than its voter's own. The voter
// promises the longer one, and remembers over a restart that it did.
func TestAVoterPromisesTheLongerLease(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), leases: true})
	leader := s.elect()
	voter := s.without(leader)[0]
	long := 10 * voter.rules.Lease
	assert.Equal(t, rpc.Success, voter.ask(leader, rpc.Body{Kind: rpc.Heartbeat, Term: leader.machine.Term, Round: 99, Lease: long}))
	assert.True(t, voter.replied.Promised)
	assert.Equal(t, long, voter.disk.Promise)
	for _, a := range s.actors {
		a.crash()
	}
	voter.start()
	other := s.without(leader)[1]
	other.start()
	s.run(long - time.Millisecond)
	assert.Zero(t, voter.rounds(), "it stood before the lease that it had promised was over")
	s.runUntil(time.Second, "a leader", s.settled)
}

// A voter that was restarted without leases still keeps the promise of its former
// life, also when it follows the same leader again.
func TestAPromiseOutlivesTheConfiguration(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), leases: true})
	leader := s.elect()
	voter, other := s.without(leader)[0], s.without(leader)[1]
	voter.crash()
	voter.rules.Lease = 0
	voter.start()
	next := voteFor(leader.machine.Term + 1)
	assert.Equal(t, rpc.RejectAlreadyHasLeader, voter.ask(other, next), "while it knows no leader")
	s.runUntil(time.Second, "it follows again", s.settled)
	assert.Equal(t, rpc.RejectAlreadyHasLeader, voter.ask(other, next), "while it follows")
	voter.give(Input{Kind: PeerLost, Seat: leader.rules.Self})
	voter.give(Input{Kind: Stand})
	assert.Equal(t, memberstate.Follower, voter.machine.Role)
}

// D4: a member without pre-vote deposes nobody either, for those who have it
// stand by a leader that is not silent.
func TestAMemberWithoutPreVoteDeposesNobody(t *testing.T) {
	for seed := range uint64(20) {
		s := newStage(t, stageOptions{members: memberstate.Voters("n0", "n1", "n2", "n3", "n4"), seed: seed})
		rude := s.actors[0]
		rude.rules.PreVote = false
		leader := s.elect()
		rude.crash()
		s.run(time.Second)
		rude.start()
		rude.give(Input{Kind: Stand})
		s.runUntil(time.Minute, "all follow", s.settled)
		if leader != rude {
			assert.Equal(t, leader, s.leader())
		}
	}
}

// A voter that has just started refuses everyone, for it may have a leader. That
// is one refusal; only one who names a leader of the very term ends the round.
func TestOnlyWhoNamesALeaderEndsTheRound(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), noPreVote: true})
	candidate, fasting, other := s.actors[0], s.actors[1], s.actors[2]
	candidate.start()
	candidate.give(Input{Kind: Stand})
	s.run(0) // it has saved its vote, and asked
	refusal := rpc.Body{
		Kind: rpc.VoteResponse, Result: rpc.RejectAlreadyHasLeader,
		Round: candidate.machine.ballot, Term: candidate.machine.Term, Asked: candidate.machine.Term,
	}
	candidate.receive(&Message{From: fasting.rules.Self, Body: refusal})
	assert.Equal(t, voting, candidate.machine.round.phase)
	candidate.receive(&Message{From: fasting.rules.Self, Leader: other.rules.Self, Body: refusal})
	assert.Equal(t, idle, candidate.machine.round.phase)
}

// D13: without pre-vote a report that the leader is gone could depose a living
// one, which would have no chance to refuse.
func TestWithoutPreVoteAReportIsNotActedOn(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), noPreVote: true})
	leader := s.elect()
	for _, a := range s.without(leader) {
		a.give(Input{Kind: PeerLost, Seat: leader.rules.Self})
		assert.Equal(t, memberstate.Follower, a.machine.Role)
	}
}

// rounds counts the rounds of votes of this incarnation.
func (a *actor) rounds() uint32 { return a.machine.ballot }

// A process that was stopped sees one answer come very late. What counts is what the
// others say; a network that has become slow says it again and again.
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

// A leader whose term can hold no lease any more, after a handover that came to
// nothing, and whom a voter with more in its ledger will not elect again, makes way for
// that voter. Else it would lead for ever and never serve. (Found by simulation.)
func TestALeaderThatCanHoldNoLeaseMakesWay(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), leases: true})
	leader := s.elect()
	better, third := s.without(leader)[0], s.without(leader)[1]
	s.run(time.Second)
	third.crash()
	better.ledger = memberstate.Position{Term: 1, Index: 9}
	leader.machine.office.leaseVoid = true
	s.runUntil(20*leader.rules.Timing.Detection(), "the better one leads, with a lease", func() bool {
		return s.leader() == better && better.machine.LeaseBeat() > 0
	})
}

// D13: who was told that its leader is lost, and was vetoed by it, waits for the veto in
// the next pre-vote, too: where clocks differ that may come before the leader's next
// heartbeat. It doubts no longer once it hears from it. (Found by simulation.)
func TestADoubtOutlivesTheVeto(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	leader := s.elect()
	s.run(time.Second)
	voter := s.without(leader)[0]
	s.link(leader, voter).hold = true // its next heartbeat is late
	voter.give(Input{Kind: PeerLost, Seat: leader.rules.Self})
	s.runUntil(time.Second, "it asks", func() bool { return voter.machine.round.phase == preVoting })
	veto := rpc.Body{
		Kind: rpc.VoteResponse, Result: rpc.RejectAlreadyHasLeader, Mark: rpc.PreVote,
		Round: voter.machine.ballot, Term: voter.machine.Term, Asked: voter.machine.round.asked,
	}
	voter.receive(&Message{From: leader.rules.Self, Leader: leader.rules.Self, Body: veto})
	assert.Equal(t, idle, voter.machine.round.phase, "vetoed")
	assert.True(t, voter.machine.doubtful)
	s.runUntil(time.Second, "it asks again", func() bool { return voter.machine.round.phase == preVoting })
	assert.True(t, voter.machine.awaitsVeto())
	s.release(leader, voter)
	s.runUntil(time.Second, "it follows again", func() bool { return voter.machine.Role == memberstate.Follower })
	assert.False(t, voter.machine.doubtful)
	assert.Equal(t, leader, s.leader())
}

// A step sends one message. A beat that goes out early, for those who are ready now, is
// not given up for the word to the target of a handover, who answers that beat, too.
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

// A beat has the next voter be asked whether it can take over. The answer of the one before
// may be on its way, and is as good, but not if somebody else was named.
func TestTheFirstWhoCanTakeOverDoes(t *testing.T) {
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
		assert.EqualValues(t, 3, m.handover.Target, "who is asked now is asked on")
		answer.Result = rpc.Accept
		m.Step(r, &Input{Kind: Receive, Message: answer}, &out)
		assert.Equal(t, target, m.handover.Target)
		assert.Equal(t, why == ToAnyone, m.handover.Phase == Pausing)
	}
}

// What a round leaves behind for the next one: nothing, if it was won; and else the doubt
// whether the leader lives.
func TestARoundLeavesNothingBehind(t *testing.T) {
	all := memberstate.SetOf(1, 2, 3)
	r := &Rules{Self: 1, Voters: all, All: all, Timing: DefaultTiming(), PreVote: true}
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1, Vote: 1}}, round: round{phase: voting, hurries: 2}, doubtful: true}
	m.conclude(r, &Input{}, &Output{}, Passed)
	assert.Equal(t, memberstate.Leader, m.Role)
	assert.Zero(t, m.round.hurries)
	assert.False(t, m.doubtful)
	for _, vetoed := range []bool{true, false} {
		m := Machine{round: round{phase: preVoting, vetoed: vetoed, hurries: 2}, doubtful: true}
		m.conclude(r, &Input{}, &Output{}, WaitToRevote)
		assert.True(t, m.doubtful)
		assert.Zero(t, m.round.hurries)
	}
}

// D19: a candidate that waits to stand adopts larger terms as it hears of them, and its wait
// goes on. It is set anew when the member votes, or when its own round has been cut short.
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

// D20: a voter that refuses a candidate for its ledger does not ask for the term in which
// that one, and those like it, have voted for it.
func TestWhoeverRefusesALedgerStandsInALargerTerm(t *testing.T) {
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

// stepWithLedger steps a machine whose engine is asked for the end of its ledger.
func stepWithLedger(r *Rules, m *Machine, in Input, end memberstate.Position) (out Output) {
	for m.Step(r, &in, &out); out.NeedLedger; m.Step(r, &in, &out) {
		in.HasLedger, in.LedgerTerm, in.Ledger = true, out.LedgerTerm, end
	}
	return out
}

// Leases are turned on and off member by member. A leader that has them is given one by
// those that have none, and they keep the promise as anyone does, also over a restart.
func TestVotersWithoutLeasesPromiseThem(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), leases: true})
	first := s.actors[2] // whose turn it is
	for _, a := range s.without(first) {
		a.rules.Lease = 0
	}
	leader := s.elect()
	assert.Equal(t, first, leader)
	s.run(time.Second)
	until, held := leader.lease()
	assert.True(t, held)
	leader.crash()
	for _, a := range s.without(leader) {
		assert.Equal(t, leader.rules.Lease, a.disk.Promise)
		a.crash()
		a.start()
	}
	s.runUntil(time.Minute, "another leader", s.settled)
	assert.Greater(t, s.now, until, "elected while the lease of the last one was held")
}

// D11: an answer without a promise, as that of a member of another version, keeps a leader in
// office but gives it no lease; and one that is not renewed in the newest answer is taken back.
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

// A leader that a quorum heard has a detection time to be heard again, also if somebody
// answered an earlier beat that it follows another one.
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

// A vote counts for the term that was asked for. The number of a round comes again in another
// incarnation, and a vote that another member vouches for has none.
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

// And an answer to a beat is one to the leader of that term.
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
