// A voter decides on a request, and what that means for its own next attempt.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// followingIn follows the leader in a term that is not the first.
func followingIn(t *testing.T, term memberstate.Term, leases bool) *alone {
	t.Helper()
	a := startedAlone(t)
	a.followsIn(term, leases)
	return a
}

// followsIn makes it follow the leader in a term.
func (a *alone) followsIn(term memberstate.Term, leases bool) {
	a.Helper()
	if leases {
		a.rules.Lease = a.rules.Timing.Detection()
	}
	a.machine.Term = term
	a.restart()
	require.Equal(a, rpc.Success, a.asked(theLeader, a.beat(term, 1)))
}

// The rows of the table in docs/protocol.md that speak of one vote: the first that applies decides.
func TestARequestForAVoteIsDecidedInOrder(t *testing.T) {
	handedBy := func(giver memberstate.Seat) func(a *alone) rpc.Result {
		return func(a *alone) rpc.Result { return a.hears(2, giver, marked(voteFor(1), rpc.Handed)) }
	}
	for what, c := range map[string]struct {
		ask  func(a *alone) rpc.Result
		want rpc.Result
		term memberstate.Term
	}{
		"an observer stands": {func(a *alone) rpc.Result {
			a.rules.All = a.rules.Voters.With(4)
			return a.asked(4, voteFor(2))
		}, rpc.RejectUnknownLeader, 0},
		"of an older term, while there is a leader": {func(a *alone) rpc.Result {
			a.followsIn(5, true)
			return a.asked(2, voteFor(3))
		}, rpc.RejectExpiredVoteTerm, 5},
		"of an older term, in the restart hold": {func(a *alone) rpc.Result {
			a.followsIn(5, true)
			a.restart()
			return a.asked(2, voteFor(3))
		}, rpc.RejectExpiredVoteTerm, 5},
		"won a pre-vote, and no lease binds": {func(a *alone) rpc.Result {
			a.followsIn(5, false)
			return a.asked(2, voteFor(6))
		}, rpc.Accept, 6},
		"in the leader's term, the vote of which is not given": {func(a *alone) rpc.Result {
			a.followsIn(5, false)
			return a.asked(2, marked(voteFor(5), rpc.Plain))
		}, rpc.Accept, 5},
		"the same, and a lease binds": {func(a *alone) rpc.Result {
			a.followsIn(5, true)
			return a.asked(2, marked(voteFor(5), rpc.Plain))
		}, rpc.RejectAlreadyHasLeader, 5},
		"own leases bind to a leader without": {func(a *alone) rpc.Result {
			a.followsIn(5, false)
			a.rules.Lease = a.rules.Timing.Detection()
			require.Zero(a, a.machine.Promise)
			return a.asked(2, voteFor(6))
		}, rpc.RejectAlreadyHasLeader, 5},
		"handed by a member that is not the leader":     {handedBy(3), rpc.RejectTermNotReady, 1},
		"handed by nobody to a member without a leader": {handedBy(memberstate.Nobody), rpc.RejectTermNotReady, 1},
	} {
		a := startedAlone(t)
		assert.Equal(t, c.want, c.ask(a), what)
		assert.Equal(t, c.term, a.machine.Term, what)
	}
}

// Of a candidate that names the voter's leader only the mark says that the leader has handed over.
func TestOnlyTheMarkOfAHandoverIsHonoured(t *testing.T) {
	for _, mark := range []rpc.Mark{rpc.Plain, rpc.Won} {
		a := followingAlone(t, true)
		assert.Equal(t, rpc.RejectAlreadyHasLeader, a.hears(2, theLeader, marked(voteFor(2), mark)), "%v", mark)
	}
}

// The leader yields to the target that it has told to stand. A request of another voter, or one that comes when the
// handover has begun anew, belongs to an earlier handover.
func TestALeaderYieldsToItsTargetWhenItIsTold(t *testing.T) {
	for _, phase := range []HandoverPhase{NoHandover, Probing, Pausing, Taking} {
		for _, from := range []memberstate.Seat{2, 3} {
			a := leadingAlone(t, true)
			a.machine.handover = Handover{Phase: phase, Target: 2, patience: 3}
			result := a.hears(from, 1, marked(voteFor(2), rpc.Handed))
			yields := phase == Taking && from == 2
			assert.Equal(t, yields, result == rpc.Accept, "%v, %d stands", phase, from)
			assert.Equal(t, !yields, a.machine.Role == memberstate.Leader)
		}
	}
}

// A pre-vote changes nothing, whatever the answer is. While a voter has another leader it refuses all of them, even of
// the leader's own term, and even if it has no pre-votes itself.
func TestAPreVoteChangesNothing(t *testing.T) {
	poor := func(body rpc.Body) rpc.Body {
		body.Ledger = memberstate.Position{}
		return body
	}
	follows := func(a *alone) { a.followsIn(1, false) }
	hasVoted := func(a *alone) { require.Equal(a, rpc.Accept, a.asked(3, voteFor(1))) }
	isHeir := func(a *alone) {
		a.followsIn(1, false)
		a.tellsToTake(1, rpc.Plain, 1, memberstate.Position{})
		require.False(a, a.idle())
	}
	for what, c := range map[string]struct {
		before func(a *alone)
		body   rpc.Body
		want   rpc.Result
	}{
		"no leader":             {func(*alone) {}, wouldVoteFor(3), rpc.Accept},
		"a leader, larger term": {follows, wouldVoteFor(2), rpc.RejectAlreadyHasLeader},
		"a leader, its term":    {follows, wouldVoteFor(1), rpc.RejectAlreadyHasLeader},
		"a leader, no pre-votes of its own": {func(a *alone) {
			a.followsIn(1, false)
			a.rules.PreVote = false
		}, wouldVoteFor(2), rpc.RejectAlreadyHasLeader},
		"a worse ledger":            {func(a *alone) { a.ledger.Term = 1 }, poor(wouldVoteFor(3)), rpc.RejectExpiredLedgerTerm},
		"a vote given":              {hasVoted, wouldVoteFor(1), rpc.RejectAlreadyVoted},
		"a vote given, larger term": {hasVoted, wouldVoteFor(2), rpc.Accept},
		"asks for votes itself, which no leader has handed to it": {func(a *alone) {
			a.rules.PreVote = false
			a.give(Input{Kind: Stand})
			require.False(a, a.idle())
		}, wouldVoteFor(9), rpc.Accept},
		"is about to take over": {isHeir, wouldVoteFor(3), rpc.RejectTakingLeadership},
		"is about to take over, and its ledger is better": {func(a *alone) {
			a.ledger.Term = 1
			isHeir(a)
		}, poor(wouldVoteFor(3)), rpc.RejectExpiredLedgerTerm},
	} {
		a := startedAlone(t)
		c.before(a)
		before := a.machine
		assert.Equal(t, c.want, a.asked(2, c.body), what)
		assert.Equal(t, before, a.machine, what)
		assert.Equal(t, Output{Replied: true, Reply: a.out.Reply}, a.out, "%s: all that comes of it is an answer", what)
	}
}

// A member that adopts a larger term and gives no vote in it, because its ledger is better, waits for its next attempt.
func TestAVoterThatRefusesTheWinnerOfAPreVoteWaits(t *testing.T) {
	a := followingIn(t, 5, false)
	a.ledger = memberstate.Position{Term: 9, Index: 1}
	assert.Equal(t, rpc.RejectExpiredLedgerTerm, a.asked(2, voteFor(6)))
	assert.EqualValues(t, 6, a.machine.Term)
	assert.Equal(t, a.rules.Timing.MinVoteWait, a.out.Alarm.Min)
}

// D19: a member that has voted in its term, be it for itself, does not wait for its next attempt in that term. So its
// wait begins anew with the next term.
func TestAMemberThatHasVotedWaitsAnewInTheNextTerm(t *testing.T) {
	a := startedAlone(t)
	a.rules.PreVote = false
	a.ring()
	a.answered(2, rpc.RejectAlreadyVoted, 1)
	a.answered(3, rpc.RejectAlreadyVoted, 1)
	require.True(t, a.idle())
	require.Equal(t, a.rules.Self, a.machine.Vote)
	require.Equal(t, rpc.RejectTermNotReady, a.asked(2, marked(voteFor(4), rpc.Plain)))
	assert.NotZero(t, a.out.Alarm)
}

func TestAPreVoteForAnOlderTermIsRefusedForThat(t *testing.T) {
	m, out := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 5}}}, Output{}
	ask := Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: 3}}
	m.Step(threeRules(), &Input{Kind: Receive, Message: ask, HasLedger: true, LedgerTerm: 5}, &out)
	assert.Equal(t, rpc.RejectExpiredVoteTerm, out.Reply.Result)
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
	for end, refusal := range map[memberstate.Position]rpc.Result{
		{Index: 5}: rpc.RejectSmallLedgerEndIndex, {Term: 1}: rpc.RejectExpiredLedgerTerm,
	} {
		for poor, want := range map[bool]memberstate.Term{true: 3, false: 2} {
			r := &Rules{Self: 1, Voters: memberstate.SetOf(1, 2, 3), All: memberstate.SetOf(1, 2, 3), Timing: DefaultTiming()}
			m := NewMachine(r, memberstate.HardState{Term: 1})
			ask := Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Term: 2}}}
			stepWithLedger(r, &m, ask, end)
			if poor {
				out := stepWithLedger(r, &m, ask, end)
				assert.Equal(t, refusal, out.Reply.Result)
			}
			out := stepWithLedger(r, &m, Input{Kind: Ring, Number: m.alarm}, end)
			assert.Equal(t, want, out.Send.Term, "it has refused: %t", poor)
		}
	}
}
