// DLedger's faults, as far as one member shows them. The numbers are those of a list of thirty faults,
// found by reading and running the original. docs/dledger.md lists them with all of their tests.

package protocol

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// replies are effects that keep only the answers.
type replies struct {
	ignored
	said []rpc.Result
}

func (r *replies) Reply(m *Message)               { r.said = append(r.said, m.Result) }
func (r *replies) Show(View)                      {}
func (r *replies) Arm(Alarm)                      {}
func (r *replies) Send(memberstate.Set, *Message) {}
func (r *replies) Judge(rpc.Mark, Judgement)      {}
func (r *replies) Drop(Drop)                      {}
func (r *replies) Settle()                        {}
func (r *replies) EndLead(memberstate.Term)       {}
func (r *replies) Lead(memberstate.Term)          {}
func (r *replies) Pause(memberstate.Term, uint32) {}
func (r *replies) Resume()                        {}

// DLedger swallows a failed write of the vote, and grants the vote.
func TestFault01AVoteThatIsNotSavedIsNotGiven(t *testing.T) {
	r, fx := threeRules(), new(replies)
	s := NewSession(r, memberstate.HardState{}, memberstate.Position{}, 0)
	x := &Step{Input: Input{Kind: Receive, Message: Message{From: 2, Body: voteFor(1)}}}
	need := s.Begin(r, 0, x, fx)
	for need == NeedLedger {
		need = s.Ledger(r, 0, x, fx, memberstate.Position{}, 0)
	}
	require.Equal(t, NeedSave, need)
	assert.Empty(t, fx.said, "it answered before it had saved")
	for need == NeedSave {
		need = s.Saved(r, 0, x, fx)
	}
	assert.Equal(t, []rpc.Result{rpc.Accept}, fx.said)
}

// After a restart with a term file that cannot be read, DLedger gives a second vote.
func TestFault03AVoteOutlivesTheProcess(t *testing.T) {
	a := startedAlone(t)
	assert.Equal(t, rpc.Accept, a.asked(2, voteFor(1)))
	a.restart()
	assert.Equal(t, rpc.RejectAlreadyVoted, a.asked(3, voteFor(1)))
	assert.Equal(t, rpc.Accept, a.asked(2, voteFor(1)), "the same vote may be asked for again")
}

// One request with the largest integer moves DLedger to a term that it can never raise.
func TestFault05AnImpossibleTermIsIgnored(t *testing.T) {
	a := startedAlone(t)
	for _, kind := range []rpc.Kind{rpc.VoteRequest, rpc.VoteResponse, rpc.Heartbeat, rpc.HeartbeatResponse, rpc.TakeLeadership} {
		for _, mark := range []rpc.Mark{rpc.Plain, rpc.PreVote, rpc.Won, rpc.Handed} {
			for _, term := range []memberstate.Term{math.MaxUint64, memberstate.MaxTermStep + 1} {
				before := a.machine
				assert.Zero(t, a.asked(2, rpc.Body{Kind: kind, Mark: mark, Term: term}))
				assert.Equal(t, before, a.machine)
			}
		}
	}
	assert.Equal(t, rpc.Accept, a.asked(2, voteFor(memberstate.MaxTermStep)), "a term that can be is adopted")
}

// DLedger believes any end of the ledger. Here the session refuses an impossible one, and the machine
// still has DLedger's answer to a ledger ahead of its term.
func TestFault06ALedgerAheadOfTheTermIsNotVotedFor(t *testing.T) {
	a := startedAlone(t)
	a.ledger = memberstate.Position{Term: 9, Index: 1}
	body := voteFor(3)
	body.Ledger = memberstate.Position{Term: 9, Index: 5}
	assert.Equal(t, rpc.RejectTermSmallThanLedger, a.asked(2, body))
	assert.EqualValues(t, 9, a.out.Reply.Term)
}

// DLedger looks at the ledger before the term, so a candidate that is refused for its ledger teaches
// its term to no voter. Here the refusal comes with the term adopted.
func TestFault08ARefusalForTheLedgerAdoptsTheTerm(t *testing.T) {
	a := startedAlone(t)
	a.ledger = memberstate.Position{Term: 4, Index: 1}
	body := voteFor(9)
	body.Ledger = memberstate.Position{}
	assert.Equal(t, rpc.RejectExpiredLedgerTerm, a.asked(2, body))
	assert.EqualValues(t, 9, a.machine.Term)
	assert.EqualValues(t, 9, a.out.Reply.Term)
}

// Any larger term deposes a healthy leader of DLedger. Here neither the leader nor its followers adopt
// the term of a candidate that has won nothing.
func TestFault10ABareTermDeposesNobody(t *testing.T) {
	for _, a := range []*alone{leadingAlone(t, false), followingAlone(t, false)} {
		assert.Equal(t, rpc.RejectAlreadyHasLeader, a.asked(2, marked(voteFor(6), rpc.Plain)))
		assert.EqualValues(t, 1, a.machine.Term)
	}
}

// DLedger's first candidate asks in the term that is over. Voters that have not noticed the silence yet tell it of their
// leader, and it sleeps a detection time. Here it asks in the next term, and again after about a heartbeat (D5).
func TestFault11ACandidateThatStandsEarlyAsksAgainSoon(t *testing.T) {
	for _, ranks := range []bool{true, false} {
		a := followingAlone(t, false)
		a.rules.Ranks = ranks
		for a.idle() {
			a.ring()
		}
		_, asked, _ := a.machine.Open()
		assert.EqualValues(t, 2, asked, "the term is over")
		a.answered(2, rpc.RejectAlreadyHasLeader, 1)
		for !a.idle() {
			a.ring() // the dead leader does not answer
		}
		assert.LessOrEqual(t, a.out.Alarm.Max, a.rules.Timing.Heartbeat*5/4)
		assert.EqualValues(t, 1, a.machine.Term, "to be told of a leader raises no term")
		a.ring()
		_, asked, _ = a.machine.Open()
		assert.EqualValues(t, 2, asked)
	}
}

// In DLedger a lost round ends only when the slowest peer has answered.
func TestFault12ALostRoundEndsWithoutTheSilent(t *testing.T) {
	a := startedAlone(t)
	a.rules.Voters = memberstate.SetOf(1, 2, 3, 4, 5)
	a.rules.All = a.rules.Voters
	a.ring()
	for voter := memberstate.Seat(2); voter < 5; voter++ {
		assert.False(t, a.idle(), "%d of five can still be a quorum", voter)
		a.answered(voter, rpc.RejectExpiredLedgerTerm, 0)
	}
	assert.True(t, a.idle(), "three of five have refused, and it waits for the fifth")
}

// A candidate of DLedger that waits for its round cannot raise its term, so its rival asks it again
// every 10 ms: 500 to 1,100 requests in one failover. Nor may a voter that is never ready keep a
// candidate asking at full speed.
func TestFault13RevotesAtOnceAreFew(t *testing.T) {
	a := startedAlone(t)
	a.rules.PreVote = false
	a.give(Input{Kind: Stand})
	rounds := 1
	for range 100 {
		if !a.idle() {
			a.answered(2, rpc.RejectTermNotReady, a.machine.Term-1)
		}
		if a.out.To != 0 && a.out.Send.Kind == rpc.VoteRequest {
			rounds++
		}
		a.out = Output{}
	}
	assert.Equal(t, 1+3, rounds, "D22")
	assert.True(t, a.idle(), "it waits")
}

// In DLedger "raise the term" survives becoming a follower: at its next time-out the node jumps a term
// without asking.
func TestFault15ATermIsRaisedOnce(t *testing.T) {
	a := startedAlone(t)
	a.ledger = memberstate.Position{Term: 0, Index: 1}
	body := voteFor(5)
	body.Ledger = memberstate.Position{}
	a.asked(2, marked(body, rpc.Plain))
	assert.EqualValues(t, 5, a.machine.Term)
	require.Equal(t, rpc.TermNotReady, a.asked(theLeader, a.beat(6, 1)))
	require.Equal(t, rpc.Success, a.asked(theLeader, a.beat(6, 2)))
	for a.idle() {
		a.ring()
	}
	_, asked, _ := a.machine.Open()
	assert.EqualValues(t, 7, asked)
	assert.EqualValues(t, 6, a.machine.Term)
}

// In DLedger, of several answers with a larger term the last one counts, not the largest.
func TestFault16TheLargestTermCounts(t *testing.T) {
	for _, terms := range [][]memberstate.Term{{7, 9}, {9, 7}} {
		leader := leadingAlone(t, false)
		beat := leader.machine.Beat()
		for i, term := range terms {
			leader.hears(memberstate.Seat(2+i), memberstate.Nobody, rpc.Body{
				Kind: rpc.HeartbeatResponse, Result: rpc.ExpiredTerm, Round: beat, Term: term, Asked: 1,
			})
		}
		assert.Equal(t, memberstate.Leader, leader.machine.Role, "it is not deposed by being told")
		assert.EqualValues(t, 9, leader.machine.known)
	}
}

// The same holds for a candidate.
func TestFault16ACandidateStandsAboveTheLargestTerm(t *testing.T) {
	for _, terms := range [][]memberstate.Term{{7, 9}, {9, 7}} {
		a := startedAlone(t)
		a.give(Input{Kind: Stand})
		ballot, asked, mark := a.machine.Open()
		for i, term := range terms {
			a.hears(memberstate.Seat(2+i), memberstate.Nobody, rpc.Body{
				Kind: rpc.VoteResponse, Result: rpc.RejectExpiredVoteTerm, Mark: mark, Round: ballot, Asked: asked, Term: term,
			})
		}
		a.give(Input{Kind: Stand})
		_, asked, _ = a.machine.Open()
		assert.EqualValues(t, 10, asked, "told of %v", terms)
	}
}

// In DLedger a refused candidate does not learn who the leader is.
func TestFault20ARefusalNamesTheLeader(t *testing.T) {
	for leader, a := range map[memberstate.Seat]*alone{1: leadingAlone(t, false), theLeader: followingAlone(t, false)} {
		assert.Equal(t, rpc.RejectAlreadyHasLeader, a.asked(2, wouldVoteFor(2)))
		assert.Equal(t, leader, a.out.Reply.Leader)
	}
}

// handedTo is a member that was told to take over in term 1, and asks for votes in term 2.
func handedTo(t *testing.T, ledger memberstate.Position) *alone {
	t.Helper()
	a := followingAlone(t, false)
	a.ledger = ledger
	a.hears(theLeader, a.rules.Self, rpc.Body{Kind: rpc.TakeLeadership, Term: 1, Round: 1})
	_, asked, mark := a.machine.Open()
	require.EqualValues(t, 2, asked)
	require.Equal(t, rpc.Handed, mark)
	return a
}

// A vouched vote was given on the end of the ledger that the leader named. So it counts only for a
// target whose ledger reaches that end.
func TestAVoteAtTheLeadersWordNeedsTheLedgerItWasGivenOn(t *testing.T) {
	for end, wins := range map[memberstate.Position]bool{
		{Term: 1, Index: 4}: true, {Term: 1, Index: 5}: true, {Term: 1, Index: 6}: false, {Term: 2, Index: 1}: false,
	} {
		a := handedTo(t, memberstate.Position{Term: 1, Index: 5})
		a.hears(2, memberstate.Nobody, rpc.Body{
			Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: rpc.Vouched, Term: 2, Asked: 2, Ledger: end,
		})
		assert.Equal(t, wins, a.machine.Role == memberstate.Leader, "%v", end)
	}
}

// In DLedger a transfer on command has what one to a preferred leader has only where there are preferred leaders: the heir
// asks again soon, and refuses others. Here an heir that is behind is told again at once, refuses others, and is waited for
// as long, whoever is preferred.
func TestFault22ATransferOnCommandNeedsNoPreferredLeaders(t *testing.T) {
	for _, preferred := range []memberstate.Set{0, memberstate.SetOf(2), memberstate.SetOf(3)} {
		leader := leadingAlone(t, false)
		leader.rules.Preferred = preferred
		leader.give(Input{Kind: Transfer, Seat: 2})
		leader.accepts(2)
		leader.give(Input{Kind: Paused})
		leader.hears(2, 1, rpc.Body{Kind: rpc.TakeLeadershipResponse, Result: rpc.LedgerBehind, Asked: 1})
		assert.Equal(t, rpc.TakeLeadership, leader.out.Send.Kind, "it is told again")
		for range leader.rules.Timing.Leak {
			require.Equal(t, Taking, leader.machine.Handover().Phase)
			leader.acknowledges(3, leader.machine.Beat())
			leader.ring()
		}
		assert.Equal(t, NoHandover, leader.machine.Handover().Phase)

		heir := followingAlone(t, false)
		heir.rules.Preferred = preferred
		heir.tellsToTake(1, rpc.Plain, 1, memberstate.Position{})
		assert.Equal(t, rpc.RejectTakingLeadership, heir.asked(2, wouldVoteFor(3)))
	}
}

// In DLedger REJECT_TAKING_LEADERSHIP refuses an equally good candidate, and never expires. Here it
// ends with the one round of the target.
func TestFault23TakingLeadershipExpires(t *testing.T) {
	a := handedTo(t, memberstate.Position{})
	assert.Equal(t, rpc.RejectTakingLeadership, a.asked(2, wouldVoteFor(3)))
	a.ring()
	assert.True(t, a.idle())
	assert.Equal(t, rpc.Accept, a.asked(2, wouldVoteFor(3)))
}

// In DLedger a late message of the old leader turns the target back into a follower. An append is such
// a message, too, and reaches the elector through the engine.
func TestFault24ALateMessageOfTheOldLeaderChangesNothing(t *testing.T) {
	a := handedTo(t, memberstate.Position{})
	before := a.machine
	assert.Equal(t, rpc.ExpiredTerm, a.asked(theLeader, a.beat(1, 9)))
	a.give(Input{Kind: Heard, Seat: theLeader, Term: 1})
	assert.Equal(t, before, a.machine)
}

// DLedger's check of a preferred leader waits for its answer without a time-out. Here an offer to one that falls silent is
// given up, whatever phase it is in, and the leader can hand over to another (D14).
func TestFault25AnOfferToAPreferredLeaderIsGivenUp(t *testing.T) {
	for phase, reach := range map[HandoverPhase]func(a *alone){
		Probing: func(*alone) {},
		Pausing: func(a *alone) { a.accepts(2) },
		Taking:  func(a *alone) { a.accepts(2); a.give(Input{Kind: Paused}) },
	} {
		a := leadingAlone(t, false)
		a.rules.Preferred = memberstate.SetOf(2)
		for a.machine.Handover().Reason != ToPreferred {
			a.acknowledges(2, a.machine.Beat())
			if a.machine.Handover().Phase == NoHandover {
				a.ring()
			}
		}
		reach(a)
		for range a.rules.Timing.Leak {
			require.Equal(t, phase, a.machine.Handover().Phase)
			a.acknowledges(3, a.machine.Beat())
			a.ring()
		}
		assert.Equal(t, NoHandover, a.machine.Handover().Phase, "%v", phase)
		assert.Equal(t, memberstate.Leader, a.machine.Role)
		a.give(Input{Kind: Transfer, Seat: 3})
		assert.EqualValues(t, 3, a.machine.Handover().Target)
	}
}
