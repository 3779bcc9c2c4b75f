// What is unsafe in DLedger, and impossible here. The numbers are those of a list
// of thirty faults, found by reading and running the original.

package protocol

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// voteFor asks for a vote in a term, as one that has just won a pre-vote.
func voteFor(term memberstate.Term) rpc.Body {
	return rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.Won, Term: term, Round: 1, Ledger: memberstate.Position{Term: term}}
}

// wouldVoteFor asks in a pre-vote.
func wouldVoteFor(term memberstate.Term) rpc.Body {
	body := voteFor(term)
	body.Mark = rpc.PreVote
	return body
}

// three is a stage with three voters, all started but without a leader.
func three(t *testing.T) (s *stage, a, b, c *actor) {
	t.Helper()
	s = newStage(t, stageOptions{members: threeVoters()})
	s.startAll()
	return s, s.actors[0], s.actors[1], s.actors[2]
}

// A failed write of the vote is swallowed, and the vote is granted all the same.
func TestFault01AVoteThatIsNotSavedIsNotGiven(t *testing.T) {
	_, a, b, _ := three(t)
	a.deadDisk = true
	assert.Zero(t, a.ask(b, voteFor(1)), "it answered before it had saved")
}

// After a restart with a term file that cannot be read, a second vote is given.
func TestFault03AVoteOutlivesTheProcess(t *testing.T) {
	_, a, b, c := three(t)
	assert.Equal(t, rpc.Accept, a.ask(b, voteFor(1)))
	a.crash()
	a.start()
	assert.Equal(t, rpc.RejectAlreadyVoted, a.ask(c, voteFor(1)))
	assert.Equal(t, rpc.Accept, a.ask(b, voteFor(1)), "the same vote may be asked for again")
}

// One term is led twice by one node, after a restart, and after its quorum was
// lost and came back. The invariants watch for it; this makes both happen.
func TestFault04ATermIsLedOnce(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	first := s.elect()
	led := first.machine.Term
	s.cutOff(first, true)
	s.runUntil(time.Second, "it steps down", func() bool { return first.machine.Role == memberstate.Candidate })
	assert.Equal(t, led, first.machine.Term)
	for _, a := range s.actors { // nobody else has noticed anything
		if a != first {
			a.crash()
		}
	}
	s.cutOff(first, false)
	s.startAllThatAreDown()
	s.runUntil(time.Minute, "a leader", s.settled)
	assert.Greater(t, s.leader().machine.Term, led)

	again := s.leader()
	led = again.machine.Term
	again.crash()
	again.start()
	s.runUntil(time.Minute, "a leader after the restart", s.settled)
	assert.Greater(t, s.leader().machine.Term, led)
}

// All crash, and the old leader is the first to stand again, before those who
// voted for it: in a new term, not in the one that it has led.
func TestFault04NorByAnotherIncarnation(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), noPreVote: true})
	leader := s.elect()
	led := leader.machine.Term
	for _, a := range s.actors {
		a.crash()
	}
	s.startAllThatAreDown()
	leader.give(Input{Kind: Stand})
	s.runUntil(time.Second, "it leads again", func() bool { return s.leader() == leader })
	assert.Greater(t, leader.machine.Term, led)
}

func (s *stage) startAllThatAreDown() {
	for _, a := range s.actors {
		if !a.alive {
			a.start()
		}
	}
}

// One request with the largest integer moves the node to a term that it can
// never raise.
func TestFault05AnImpossibleTermIsIgnored(t *testing.T) {
	_, a, b, _ := three(t)
	for _, kind := range []rpc.Kind{rpc.VoteRequest, rpc.VoteResponse, rpc.Heartbeat, rpc.HeartbeatResponse, rpc.TakeLeadership} {
		for _, mark := range []rpc.Mark{rpc.Plain, rpc.PreVote, rpc.Won, rpc.Handed} {
			assert.Zero(t, a.ask(b, rpc.Body{Kind: kind, Mark: mark, Term: math.MaxUint64}))
			assert.Zero(t, a.ask(b, rpc.Body{Kind: kind, Mark: mark, Term: memberstate.MaxTermStep + 1}))
		}
	}
	assert.Zero(t, a.machine.Term)
	assert.Zero(t, a.machine.known)
	assert.Equal(t, rpc.Accept, a.ask(b, voteFor(memberstate.MaxTermStep)), "a term that can be is adopted")
}

// The end of the ledger is believed blindly. The host refuses one that cannot be;
// the machine itself still has DLedger's answer to a ledger ahead of its term.
func TestFault06ALedgerAheadOfTheTermIsNotVotedFor(t *testing.T) {
	_, a, b, _ := three(t)
	a.ledger = memberstate.Position{Term: 9, Index: 1}
	body := voteFor(3)
	body.Ledger = memberstate.Position{Term: 9, Index: 5}
	assert.Equal(t, rpc.RejectTermSmallThanLedger, a.ask(b, body))
	assert.EqualValues(t, 9, a.replied.Term)
}

// A leader believes in its office for four heartbeats after the quorum is gone.
// With a lease it knows when to stop: counted from sending, not from the answer.
func TestFault07ALeaseRunsFromTheBeatThatAQuorumAnswered(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), leases: true})
	leader := s.elect()
	s.run(time.Second)
	s.cutOff(leader, true)
	s.run(2 * s.delay) // what is under way arrives
	beat := leader.machine.LeaseBeat()
	sent := leader.sentBeats[beat]
	timing := leader.rules.Timing
	until, held := leader.lease()
	assert.True(t, held)
	assert.Equal(t, sent+timing.Detection()-timing.DriftMargin, until)
	s.run(until - s.now)
	_, held = leader.lease()
	assert.False(t, held, "the lease outlives the quorum")
}
