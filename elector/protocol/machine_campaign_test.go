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
// detection time.
func TestWithoutPreVoteAMemberListensFirst(t *testing.T) {
	a := startedAlone(t)
	assert.Less(t, a.out.Alarm.Max, a.rules.Timing.Detection(), "a pre-vote deposes no leader")
	a.rules.PreVote = false
	a.restart()
	assert.GreaterOrEqual(t, a.out.Alarm.Min, a.rules.Timing.Detection())
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
