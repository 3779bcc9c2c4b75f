// DLedger's faults in another guise: each test here shows one that an elector
// can have although it passes the first test of that number.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A leader that lost its quorum and regains it leads its old term again. Here its
// voters restart with their votes for it, and it is the first to stand.
func TestFault04NorByWhoRegainsItsQuorum(t *testing.T) {
	s, leader, led := withoutItsQuorum(t)
	s.startAllThatAreDown()
	leader.give(Input{Kind: Stand})
	s.runUntil(time.Second, "it leads again", func() bool { return s.leader() == leader })
	assert.Greater(t, leader.machine.Term, led)
}

// withoutItsQuorum is a stage whose leader has stepped down, in the term that it
// led, because the others are down.
func withoutItsQuorum(t *testing.T) (s *stage, leader *actor, led memberstate.Term) {
	t.Helper()
	s = newStage(t, stageOptions{members: threeVoters(), noPreVote: true})
	leader = s.elect()
	led = leader.machine.Term
	for _, a := range s.without(leader) {
		a.crash()
	}
	s.runUntil(time.Second, "it steps down", func() bool { return leader.machine.Role == memberstate.Candidate })
	assert.Equal(t, led, leader.machine.Term)
	return s, leader, led
}

// A leader counts its office from the newest answer. Here answers take longer than
// a heartbeat, and the late ones prove nothing about what was sent since.
func TestFault07LateAnswersDoNotProlongALease(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), leases: true})
	leader := s.elect()
	s.delay = 70 * time.Millisecond
	s.run(time.Second)
	for _, a := range s.without(leader) {
		s.link(leader, a).cut = true
	}
	cut, timing := s.now, leader.rules.Timing
	for range 20 {
		s.run(10 * time.Millisecond)
		until, _ := leader.lease()
		assert.LessOrEqual(t, until, cut+timing.Detection()-timing.DriftMargin, "at %v", s.now)
	}
}

// The ledger is looked at before the term, so a candidate that is refused for its
// ledger teaches nobody its term. Here the refusal comes with the term adopted.
func TestFault08WhoRefusesALedgerHasLearntTheTerm(t *testing.T) {
	_, voter, poor, _ := three(t)
	voter.ledger = memberstate.Position{Term: 4, Index: 1}
	body := voteFor(9)
	body.Ledger = memberstate.Position{}
	assert.Equal(t, rpc.RejectExpiredLedgerTerm, voter.ask(poor, body))
	assert.EqualValues(t, 9, voter.machine.Term)
	assert.EqualValues(t, 9, voter.replied.Term)
}

// An EXPIRED_TERM that comes after the quorum has answered is not waited for. Here
// only the member with the larger term is far away, so its answer is the last.
func TestFault09TheLastToAnswerIsHeardToo(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	leader := s.elect()
	far := s.without(leader)[0]
	far.crash()
	far.disk.Term = 9
	s.carry(far, leader, 15*time.Millisecond)
	s.carry(leader, far, 15*time.Millisecond)
	far.start()
	s.runUntil(2*time.Second, "it follows", s.settled)
	assert.Equal(t, leader, s.leader())
}

// carry makes a link slower than the others, for good.
func (s *stage) carry(from, to *actor, delay time.Duration) {
	l := s.link(from, to)
	l.hold = true
	for _, deliver := range l.held {
		s.at(delay, deliver)
	}
	l.held = nil
	s.at(time.Millisecond, func() { s.carry(from, to, delay) })
}

// Any larger term deposes a healthy leader. Here neither it nor who follows it
// adopts the term of a candidate that has won nothing.
func TestFault10ABareTermDeposesNobody(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	leader := s.elect()
	term := leader.machine.Term
	bare := voteFor(term + 5)
	bare.Mark = rpc.Plain
	for _, a := range []*actor{leader, s.without(leader)[0]} {
		assert.Equal(t, rpc.RejectAlreadyHasLeader, a.ask(s.without(leader)[1], bare))
		assert.Equal(t, term, a.machine.Term)
	}
}

// Who has not timed out yet answers ALREADY_HAS_LEADER, and the candidate goes to
// sleep. Here one such answer is one refusal, and the quorum does without it.
func TestFault11WhoHasNotNoticedHoldsUpNobody(t *testing.T) {
	s := newStage(t, stageOptions{members: memberstate.Voters("n0", "n1", "n2", "n3", "n4")})
	leader := s.elect()
	believer := s.without(leader)[0]
	leader.crash()
	detection := leader.rules.Timing.Detection()
	s.run(detection / 2)
	believer.give(Input{Kind: Heard, Seat: leader.rules.Self, Term: leader.machine.Term})
	s.runUntil(detection*7/10, "a leader of the others", func() bool { return s.leader() != nil })
}

// The time of a leader's last good beat is never set when it is elected. Here it
// has led before, and lost that office for want of a quorum.
func TestFault14WhoLeadsAgainHasADetectionTimeToo(t *testing.T) {
	s, leader, _ := withoutItsQuorum(t)
	s.startAllThatAreDown()
	leader.give(Input{Kind: Stand})
	s.runUntil(time.Second, "it leads again", func() bool { return s.leader() == leader })
	s.cutOff(leader, true)
	s.run(leader.rules.Timing.Heartbeat * 2)
	assert.Equal(t, memberstate.Leader, leader.machine.Role)
}

// The last term that a candidate is told counts. Here it stands above the largest.
func TestFault16ACandidateStandsAboveTheLargestTerm(t *testing.T) {
	for _, terms := range [][]memberstate.Term{{7, 9}, {9, 7}} {
		_, candidate, b, c := three(t)
		candidate.give(Input{Kind: Stand})
		for i, voter := range []*actor{b, c} {
			candidate.ask(voter, rpc.Body{
				Kind: rpc.VoteResponse, Result: rpc.RejectExpiredVoteTerm, Mark: rpc.PreVote,
				Round: candidate.machine.ballot, Term: terms[i], Asked: candidate.machine.round.asked,
			})
		}
		candidate.give(Input{Kind: Stand})
		assert.EqualValues(t, 10, candidate.machine.round.asked, "told of %v", terms)
	}
}

// A late message of the old leader turns the target back into a follower. An
// append is such a message, and reaches the elector through the engine.
func TestFault24ALateAppendChangesNothing(t *testing.T) {
	s, giver, target, _ := handingOver(t)
	old := giver.machine.Term
	s.runUntil(time.Second, "it asks for votes", func() bool { return target.machine.round.phase == voting })
	before := target.machine
	target.give(Input{Kind: Heard, Seat: giver.rules.Self, Term: old})
	assert.Equal(t, before, target.machine)
	s.runUntil(time.Second, "it leads", func() bool { return s.leader() == target })
}

// A preferred leader with a broken disk takes over, fails and takes over again.
// Here it is restarted every second, and never gets as far as a vote.
func TestFault25ABrokenDiskDoesNotPingPong(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), preferred: []string{"n0"}})
	preferred := s.actors[0]
	s.actors[1].start()
	s.actors[2].start()
	s.runUntil(time.Minute, "a leader", s.settled)
	leader, term := s.leader(), s.leader().machine.Term
	preferred.disk.Term, preferred.deadDisk = term, true
	offers := 0
	for range 60 {
		preferred.start()
		s.run(time.Second)
		if preferred.step != nil { // it was told to stand, and waits for its disk
			offers++
		}
		preferred.crash()
	}
	assert.Equal(t, leader, s.leader())
	assert.Equal(t, term, leader.machine.Term)
	assert.Positive(t, offers)
	assert.Less(t, offers, 10, "in a minute, at a detection time of 300 ms")
}
