// A candidate's rounds: which term it asks for, which answers count, and what a round leaves behind.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Without a pre-vote the first campaign would depose any leader that there is, so a member that starts listens for a
// detection time, and not all that start together stand at the same moment.
func TestWithoutPreVoteAMemberListensFirst(t *testing.T) {
	a := startedAlone(t)
	assert.Less(t, a.out.Alarm.Max, a.rules.Timing.Detection(), "a pre-vote deposes no leader")
	a.rules.PreVote = false
	a.restart()
	detection := a.rules.Timing.Detection()
	assert.Equal(t, Alarm{Number: 1, Min: detection, Max: detection + a.rules.Timing.MaxVoteWait}, a.out.Alarm)
}

// The result of the last round of votes says nothing about a term that was not known then.
func TestANewTermIsAskedForFirst(t *testing.T) {
	a := startedAlone(t)
	a.ring()
	a.answered(2, rpc.RejectExpiredVoteTerm, 4)
	a.answered(3, rpc.RejectExpiredVoteTerm, 4)
	require.Equal(t, WaitToVoteNext, a.out.Judged)
	a.ledger = memberstate.Position{Term: 4, Index: 9}
	require.Equal(t, rpc.RejectTermNotReady, a.hears(2, memberstate.Nobody, marked(voteFor(6), rpc.Plain)))
	a.rules.PreVote = false
	a.ring()
	assert.Equal(t, rpc.VoteRequest, a.out.Send.Kind)
	assert.EqualValues(t, 6, a.out.Send.Term)
}

// A refusal names a term that is taken. A voter that would give its vote names none, even if it is in that term already,
// because the term can still be won.
func TestATermThatAVoterWouldVoteInIsAskedForAgain(t *testing.T) {
	for result, want := range map[rpc.Result]memberstate.Term{rpc.Accept: 1, rpc.RejectAlreadyVoted: 2} {
		a := startedAlone(t)
		a.rules.Voters = memberstate.SetOf(1, 2, 3, 4, 5)
		a.ring()
		_, asked, _ := a.machine.Open()
		require.EqualValues(t, 1, asked)
		a.answered(2, result, 1)
		a.machine.round.phase = idle // all other answers are lost
		for a.idle() {
			a.ring()
		}
		_, asked, _ = a.machine.Open()
		assert.Equal(t, want, asked, "%v", result)
	}
}

// Where all votes of a term are given, the next round is for a larger one. Where answers are missing it is for the same.
func TestALostRoundDecidesTheNextTerm(t *testing.T) {
	for what, c := range map[string]struct {
		answers []memberstate.Seat
		next    memberstate.Term
	}{"all have refused": {[]memberstate.Seat{2, 3}, 2}, "nobody has answered": {nil, 1}} {
		a := startedAlone(t)
		a.rules.PreVote = false
		a.ring()
		require.EqualValues(t, 1, a.machine.Term)
		for _, voter := range c.answers {
			a.answered(voter, rpc.RejectAlreadyVoted, 1)
		}
		for !a.idle() {
			a.ring()
		}
		for a.idle() {
			a.ring()
		}
		assert.Equal(t, c.next, a.machine.Term, what)
	}
}

// Observers have no vote, so they are not asked for it.
func TestOnlyVotersAreAsked(t *testing.T) {
	a := startedAlone(t)
	a.rules.All = a.rules.Voters.With(4)
	a.ring()
	assert.Equal(t, memberstate.SetOf(2, 3), a.out.To, "for a pre-vote")
	before := a.machine
	a.answered(4, rpc.Accept, 0)
	assert.Equal(t, DropNotAVoter, a.out.Dropped)
	assert.Equal(t, before, a.machine)
	a.answered(2, rpc.Accept, 0)
	assert.Equal(t, rpc.Won, a.out.Send.Mark)
	assert.Equal(t, memberstate.SetOf(2, 3), a.out.To, "for a vote")
}

// An answer counts for the request that it answers. Another incarnation may have used its number for another.
func TestAnAnswerToAnotherMarkDoesNotCount(t *testing.T) {
	marks := []rpc.Mark{rpc.Plain, rpc.PreVote, rpc.Won, rpc.Handed}
	for _, asked := range marks {
		for _, answered := range append(marks, rpc.Vouched) {
			a := startedAlone(t)
			a.rules.Voters = memberstate.SetOf(1, 2, 3, 4, 5)
			a.machine.State = memberstate.State{HardState: memberstate.HardState{Term: 1, Vote: 1}}
			phase := voting
			if asked == rpc.PreVote {
				phase = preVoting
			}
			a.machine.openRound(a.rules, new(Output), phase, asked, 1)
			a.hears(2, memberstate.Nobody, rpc.Body{
				Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: answered, Round: a.machine.Ballot(), Term: 1, Asked: 1,
			})
			_, _, accepted := a.machine.Asking()
			counts := asked == answered || asked == rpc.Handed && answered == rpc.Vouched
			assert.Equal(t, counts, accepted.Has(2), "%v answers %v", answered, asked)
			assert.Equal(t, counts, a.out.Dropped == 0)
		}
	}
}

// A voter that is asked twice may accept first and then refuse, because it has come to know a leader, say. It has
// accepted.
func TestAVoteIsNotTakenBack(t *testing.T) {
	a := startedAlone(t)
	a.rules.Voters = memberstate.SetOf(1, 2, 3, 4, 5)
	a.ring()
	a.answered(2, rpc.Accept, 0)
	a.answered(2, rpc.RejectAlreadyVoted, 0)
	_, _, accepted := a.machine.Asking()
	assert.Equal(t, memberstate.SetOf(1, 2), accepted)
}

// D6: a follower only says that it has a leader, which may be silent already. The leader itself says that it lives, and
// that ends the pre-vote.
func TestOnlyTheLeaderVetoesAPreVote(t *testing.T) {
	for leader, vetoes := range map[memberstate.Seat]bool{2: true, 3: false, memberstate.Nobody: false} {
		a := startedAlone(t)
		a.ring()
		ballot, asked, mark := a.machine.Open()
		a.hears(2, leader, rpc.Body{Kind: rpc.VoteResponse, Result: rpc.RejectAlreadyHasLeader, Mark: mark, Round: ballot, Asked: asked, Term: asked})
		assert.Equal(t, vetoes, a.idle(), "%d leads", leader)
	}
}

// D13: the leader's veto counts though a quorum has accepted before it came, and though it comes with a larger term.
func TestAVetoCountsAgainstAQuorum(t *testing.T) {
	c := preVoteAsked(t)
	c.machine.fromHint = true
	c.answer(2, rpc.Accept, 0)
	c.answer(3, rpc.Accept, 0)
	require.Equal(t, preVoting, c.machine.round.phase, "it waits for the veto")
	c.give(Input{Kind: Receive, Message: Message{From: 5, Leader: 5, Body: rpc.Body{
		Kind: rpc.VoteResponse, Result: rpc.RejectAlreadyHasLeader, Mark: rpc.PreVote, Round: c.machine.ballot, Asked: 1, Term: 4,
	}}})
	assert.Equal(t, idle, c.machine.round.phase)
	assert.Equal(t, WaitToRevote, c.out.Judged)
}

// A round that a quorum has refused is lost at once. No veto could change that.
func TestNoVetoIsAwaitedInALostRound(t *testing.T) {
	c := preVoteAsked(t)
	c.machine.fromHint = true
	for voter := memberstate.Seat(2); voter < 5; voter++ {
		require.Equal(t, preVoting, c.machine.round.phase)
		c.answer(voter, rpc.RejectAlreadyVoted, 1)
	}
	assert.Equal(t, idle, c.machine.round.phase)
}

// D7: a leader that has won a pre-vote leads no more, and from then on its alarm is that of a candidate.
func TestALeaderThatWinsAPreVoteIsACandidate(t *testing.T) {
	a := leadingAlone(t, false)
	a.accuses()
	a.answered(3, rpc.Accept, 1)
	assert.Equal(t, memberstate.Candidate, a.machine.Role)
	assert.EqualValues(t, 8, a.machine.Term)
	assert.True(t, a.out.Lost)
	assert.True(t, a.out.Save)
	assert.NotZero(t, a.out.Alarm)
	assert.Equal(t, rpc.Won, a.out.Send.Mark)
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

// In a new term there is no lost leader whose veto could be on its way, so a quorum is enough.
func TestADoubtEndsWithItsTerm(t *testing.T) {
	a := followingAlone(t, false)
	a.ledger = memberstate.Position{Term: 1, Index: 9}
	a.give(Input{Kind: PeerLost, Seat: theLeader})
	poor := voteFor(2)
	poor.Ledger = memberstate.Position{}
	require.Equal(t, rpc.RejectExpiredLedgerTerm, a.asked(2, poor))
	require.EqualValues(t, 2, a.machine.Term)
	for a.idle() {
		a.ring()
	}
	_, _, mark := a.machine.Open()
	require.Equal(t, rpc.PreVote, mark)
	a.answered(2, rpc.Accept, 2)
	_, _, mark = a.machine.Open()
	assert.Equal(t, rpc.Won, mark, "it has won the pre-vote")
}

// D13: when all others have accepted no veto can be on its way, so none is waited for.
func TestNoVetoIsAwaitedWhenAllHaveAccepted(t *testing.T) {
	a := followingAlone(t, false)
	a.give(Input{Kind: PeerLost, Seat: theLeader})
	a.ring()
	a.answered(2, rpc.Accept, 1)
	_, _, mark := a.machine.Open()
	assert.Equal(t, rpc.PreVote, mark, "the leader may say that it is well")
	a.answered(theLeader, rpc.Accept, 1)
	_, _, mark = a.machine.Open()
	assert.Equal(t, rpc.Won, mark)
}
