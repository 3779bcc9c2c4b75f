// A follower stands by its leader, and a leader relies on its voters' promises.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// D8, D11: an answer counts for the beat that it answers. If it were credited to a later one, the lease
// would run from a time at which the voter had not promised it.
func TestAnAnswerCountsForItsOwnBeat(t *testing.T) {
	a := leadingAlone(t, true)
	first := a.machine.Beat()
	a.ring()
	a.acknowledges(2, first)
	assert.Equal(t, first, a.machine.LeaseBeat())
	assert.Equal(t, first, a.machine.HeardBeat())
	before := a.machine
	a.acknowledges(3, first+2)
	assert.Equal(t, before, a.machine, "it counted an answer to a beat that it has not sent")
}

// D11: while its leader is not silent a voter refuses every other candidate, of whatever term, and
// adopts no term.
func TestAStickyVoterStandsByItsLeader(t *testing.T) {
	a := followingAlone(t, true)
	for _, mark := range []rpc.Mark{rpc.Plain, rpc.Won, rpc.Handed} {
		body := marked(voteFor(2), mark)
		assert.Equal(t, rpc.RejectAlreadyHasLeader, a.asked(2, body), "marked %v", mark)
	}
	assert.EqualValues(t, 1, a.machine.Term)
	a.give(Input{Kind: Stand})
	assert.Equal(t, memberstate.Follower, a.machine.Role, "it stood on command")
}

// D14: a candidate that says it was handed the leadership is believed by members that follow that very
// leader in that very term, and only for the next term.
func TestAHandoverIsHonouredByTheLeadersFollowers(t *testing.T) {
	honours := func(giver memberstate.Seat, term memberstate.Term) rpc.Result {
		return followingAlone(t, true).hears(2, giver, marked(voteFor(term), rpc.Handed))
	}
	assert.Equal(t, rpc.Accept, honours(theLeader, 2))
	assert.Equal(t, rpc.RejectAlreadyHasLeader, honours(2, 2), "another giver")
	assert.Equal(t, rpc.RejectAlreadyHasLeader, honours(memberstate.Nobody, 2), "no giver")
	assert.Equal(t, rpc.RejectAlreadyHasLeader, honours(theLeader, 3), "another term")
}

// A leader that only observers answer has no quorum.
func TestObserversAreNoQuorum(t *testing.T) {
	a := leadingAlone(t, false)
	a.rules.All = memberstate.SetOf(1, 2, 3, 4, 5)
	for range a.rules.Timing.Leak + 1 {
		a.acknowledges(4, a.machine.Beat())
		a.acknowledges(5, a.machine.Beat())
		a.ring()
	}
	assert.Equal(t, memberstate.Candidate, a.machine.Role)
}

// D11: a leader may count on a longer lease than its voter's own. The voter promises the longer one, and
// still knows this after a restart.
func TestAVoterPromisesTheLongerLease(t *testing.T) {
	a := followingAlone(t, true)
	long := 10 * a.rules.Lease
	body := a.beat(1, 99)
	body.Lease = long
	assert.Equal(t, rpc.Success, a.asked(theLeader, body))
	assert.True(t, a.out.Reply.Promised)
	assert.True(t, a.out.Save)
	assert.Equal(t, long, a.out.Alarm.Min, "it takes its leader for dead before the lease that it has promised is over")
	a.restart()
	assert.GreaterOrEqual(t, a.out.Alarm.Min, long, "it stands before the lease that it has promised is over")
	assert.Equal(t, rpc.RejectAlreadyHasLeader, a.asked(2, voteFor(2)))
}

// A voter that was restarted without leases still keeps its old promise, even when it follows the same
// leader again.
func TestAPromiseOutlivesTheConfiguration(t *testing.T) {
	a := followingAlone(t, true)
	a.rules.Lease = 0
	a.restart()
	assert.Equal(t, rpc.RejectAlreadyHasLeader, a.asked(2, voteFor(2)), "while it knows no leader")
	require.Equal(t, rpc.Success, a.asked(theLeader, a.beat(1, 2)))
	assert.Equal(t, rpc.RejectAlreadyHasLeader, a.asked(2, voteFor(2)), "while it follows")
	a.give(Input{Kind: PeerLost, Seat: theLeader})
	a.give(Input{Kind: Stand})
	assert.Equal(t, memberstate.Follower, a.machine.Role)
}

// A voter that has just started refuses every candidate, because it may have a leader. That is one
// refusal; only a voter that names a leader of the very term ends the round.
func TestOnlyARefusalThatNamesALeaderEndsTheRound(t *testing.T) {
	a := startedAlone(t)
	a.rules.PreVote = false
	a.give(Input{Kind: Stand})
	ballot, asked, _ := a.machine.Open()
	refusal := rpc.Body{Kind: rpc.VoteResponse, Result: rpc.RejectAlreadyHasLeader, Round: ballot, Term: asked, Asked: asked}
	a.hears(2, memberstate.Nobody, refusal)
	assert.False(t, a.idle())
	a.hears(2, 3, refusal)
	assert.True(t, a.idle())
}

// D13: without pre-vote a report that the leader is gone could depose a living leader, which would have
// no chance to refuse.
func TestWithoutPreVoteAReportIsNotActedOn(t *testing.T) {
	for _, preVote := range []bool{true, false} {
		a := followingAlone(t, false)
		a.rules.PreVote = preVote
		a.give(Input{Kind: PeerLost, Seat: theLeader})
		assert.Equal(t, preVote, a.machine.Role == memberstate.Candidate)
	}
}

// After a failed handover a leader's term can hold no lease any more. If a voter with a better ledger will
// not elect it again, it makes way for that voter. Otherwise it would lead for ever and never serve.
// (Found by simulation.)
func TestALeaderThatCanHoldNoLeaseMakesWay(t *testing.T) {
	a := leadingAlone(t, true)
	a.acknowledges(2, a.machine.Beat())
	a.give(Input{Kind: Transfer, Seat: 2})
	a.hears(2, 1, rpc.Body{Kind: rpc.TakeLeadershipResponse, Result: rpc.Accept, Mark: rpc.PreVote, Asked: 1})
	a.give(Input{Kind: Paused})
	require.Equal(t, Taking, a.machine.Handover().Phase)
	for a.machine.Handover().Phase != NoHandover { // no voter takes over
		a.ring()
		a.acknowledges(2, a.machine.Beat())
	}
	for range 3 * a.rules.Timing.Leak {
		if !a.idle() {
			a.answered(2, rpc.RejectSmallLedgerEndIndex, 1)
		}
		if a.machine.Role != memberstate.Leader {
			break
		}
		a.ring()
		a.acknowledges(2, a.machine.Beat())
	}
	assert.Equal(t, memberstate.Candidate, a.machine.Role)
}

// D13: a member that acted on a report, and was vetoed by its leader, waits for the veto in the next
// pre-vote, too: where clocks differ, that may come before the leader's next heartbeat. The doubt ends
// when it hears from the leader. (Found by simulation.)
func TestADoubtOutlivesTheVeto(t *testing.T) {
	a := followingAlone(t, false)
	a.give(Input{Kind: PeerLost, Seat: theLeader})
	preVote := func() {
		for a.idle() {
			a.ring()
		}
		ballot, asked, _ := a.machine.Open()
		a.hears(theLeader, theLeader, rpc.Body{
			Kind: rpc.VoteResponse, Result: rpc.RejectAlreadyHasLeader, Mark: rpc.PreVote, Round: ballot, Term: 1, Asked: asked,
		})
		require.True(t, a.idle(), "vetoed")
	}
	preVote()
	for a.idle() {
		a.ring()
	}
	assert.True(t, a.machine.awaitsVeto())
	a.answered(2, rpc.Accept, 1)
	assert.False(t, a.idle(), "one that accepts does not make up for the veto that may come")
	require.Equal(t, rpc.Success, a.asked(theLeader, a.beat(1, 2)))
	assert.Equal(t, memberstate.Follower, a.machine.Role)
	assert.False(t, a.machine.fromHint)
}

// An operator's command to stand changes nothing while the member must not stand, or does so
// already.
func TestACommandToStandIsNoReasonToHurry(t *testing.T) {
	a := followingAlone(t, true)
	a.restart()
	a.give(Input{Kind: Stand})
	assert.True(t, a.idle(), "it may have promised to stand by a leader")
	a.ring()
	a.give(Input{Kind: Stand})
	round, _, _ := a.machine.Open()
	require.NotZero(t, round)
	a.give(Input{Kind: Stand})
	again, _, _ := a.machine.Open()
	assert.Equal(t, round, again, "the round under way goes on")
}

// A follower that no lease binds leaves its leader when it is told to stand.
func TestAFollowerThatIsToldToStandFollowsNobody(t *testing.T) {
	a := followingAlone(t, false)
	a.give(Input{Kind: Stand})
	assert.Equal(t, memberstate.Candidate, a.machine.Role)
	assert.Equal(t, memberstate.Nobody, a.machine.Leader)
	assert.False(t, a.idle())
}

// A voter promises no less than its own lease: it may have been restarted with a longer one, which no leader knows yet.
func TestAVoterPromisesNoLessThanItsOwnLease(t *testing.T) {
	a := startedAlone(t)
	a.machine.Term = 1
	a.rules.Lease = a.rules.Timing.Detection()
	a.restart()
	body := a.beat(1, 1)
	body.Lease /= 2
	require.Equal(t, rpc.Success, a.asked(theLeader, body))
	assert.Equal(t, a.rules.Lease, a.machine.Promise)
}

// D13: a report that a leader is lost counts once a term: otherwise a device that resets connections could keep a group
// from its work. It counts only for the present leader, because it may have waited while another one was elected.
func TestOneReportATermCounts(t *testing.T) {
	a := followingAlone(t, false)
	a.give(Input{Kind: PeerLost, Seat: 2})
	assert.Equal(t, memberstate.Follower, a.machine.Role, "somebody else is lost")
	a.give(Input{Kind: PeerLost, Seat: theLeader})
	require.Equal(t, memberstate.Candidate, a.machine.Role)
	require.Equal(t, rpc.Success, a.asked(theLeader, a.beat(1, 2)))
	a.give(Input{Kind: PeerLost, Seat: theLeader})
	assert.Equal(t, memberstate.Follower, a.machine.Role)
}
