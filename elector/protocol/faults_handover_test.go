// What goes wrong in DLedger when leadership is handed over.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// handingOver is a stage whose leader has just told a target to take over.
func handingOver(t *testing.T) (s *stage, giver, target, third *actor) {
	t.Helper()
	s = newStage(t, stageOptions{members: threeVoters()})
	giver = s.elect()
	target, third = s.without(giver)[0], s.without(giver)[1]
	giver.give(Input{Kind: Transfer, Seat: target.rules.Self})
	s.runUntil(time.Second, "it is told", func() bool { return giver.machine.handover.Phase == Taking })
	return s, giver, target, third
}

// A target that loses its vote stays a candidate with a larger term.
func TestFault21ATargetThatFailsComesBack(t *testing.T) {
	s, giver, target, third := handingOver(t)
	s.cutOff(target, true)
	s.run(5 * time.Second)
	assert.Equal(t, giver, s.leader(), "the old leader carries on")
	assert.Equal(t, giver.rules.Self, third.machine.Leader)
	s.cutOff(target, false)
	s.runUntil(2*time.Second, "all follow one", s.settled)
}

// A transfer by hand in a group without preferred leaders is not fast.
func TestFault22ATransferTakesAFewMessages(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	giver := s.elect()
	target := s.without(giver)[0]
	giver.give(Input{Kind: Transfer, Seat: target.rules.Self})
	s.runUntil(6*s.delay, "the target leads", func() bool { return s.leader() == target && s.settled() })
}

// Its votes wait until it has asked for them. Here the voters hear of it from the leader.
func TestFault22ATransferTakesARoundTrip(t *testing.T) {
	s, _, target, _ := handingOver(t)
	s.run(2 * s.delay)
	assert.Equal(t, target, s.leader())
}

// What a voter was told of the target's ledger is only true of a target that was told the
// same, or that has more.
func TestAVoteAtTheLeadersWordNeedsTheLedgerItWasGivenOn(t *testing.T) {
	s, _, target, third := handingOver(t)
	target.ledger = memberstate.Position{Term: 1, Index: 5}
	s.runUntil(time.Second, "it asks for votes", func() bool { return target.machine.round.phase == voting })
	wins := func(end memberstate.Position) bool {
		m, out := target.machine, Output{}
		m.Step(&target.rules, &Input{Kind: Receive, Message: Message{From: third.rules.Self, Body: rpc.Body{
			Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: rpc.Vouched, Term: m.Term, Asked: m.Term, Ledger: end,
		}}}, &out)
		return m.Role == memberstate.Leader
	}
	assert.True(t, wins(memberstate.Position{Term: 1, Index: 4}))
	assert.True(t, wins(memberstate.Position{Term: 1, Index: 5}))
	assert.False(t, wins(memberstate.Position{Term: 1, Index: 6}))
	assert.False(t, wins(memberstate.Position{Term: 2, Index: 1}))
}

// REJECT_TAKING_LEADERSHIP refuses a candidate that is as good, and nothing
// makes it expire. Here it ends with the one round of the target.
func TestFault23TakingLeadershipExpires(t *testing.T) {
	s, _, target, third := handingOver(t)
	s.cutOff(target, true) // but what is under way arrives
	s.runUntil(time.Second, "it asks for votes", func() bool { return target.machine.round.phase == voting })
	next := target.machine.Term + 1
	assert.Equal(t, rpc.RejectTakingLeadership, target.ask(third, wouldVoteFor(next)))
	s.runUntil(time.Second, "its round is over", func() bool { return target.machine.round.phase != voting })
	assert.Equal(t, rpc.Accept, target.ask(third, wouldVoteFor(next)))
}

// A late heartbeat of the old leader turns the target back into a follower.
func TestFault24ALateHeartbeatChangesNothing(t *testing.T) {
	s, giver, target, _ := handingOver(t)
	old := giver.machine.Term
	s.runUntil(time.Second, "it asks for votes", func() bool { return target.machine.round.phase == voting })
	assert.Equal(t, rpc.ExpiredTerm, target.ask(giver, rpc.Body{Kind: rpc.Heartbeat, Term: old, Round: giver.machine.office.beat}))
	assert.Equal(t, memberstate.Candidate, target.machine.Role)
	s.runUntil(time.Second, "it leads", func() bool { return s.leader() == target })
}

// A transfer to a dead peer blocks.
func TestFault25ADeadTargetBlocksNothing(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	giver := s.elect()
	target, third := s.without(giver)[0], s.without(giver)[1]
	target.crash()
	giver.give(Input{Kind: Transfer, Seat: target.rules.Self})
	s.runUntil(4*giver.rules.Timing.Detection(), "it gives up", func() bool { return giver.machine.handover.Phase == NoHandover })
	assert.Equal(t, giver, s.leader())
	giver.give(Input{Kind: Transfer, Seat: third.rules.Self})
	s.runUntil(time.Second, "another takes over", func() bool { return s.leader() == third })
}

// A preferred leader with a broken disk ping-pongs.
func TestFault25APreferredLeaderThatCannotIsOfferedTheLeadEverMoreRarely(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), preferred: []string{"n0"}})
	preferred := s.actors[0]
	s.actors[1].start()
	s.actors[2].start()
	s.runUntil(time.Minute, "a leader", s.settled)
	leader := s.leader()
	leader.noPause = true // the engine cannot pause, so no offer ever succeeds
	preferred.start()
	offers, offering := 0, false
	for range 6000 {
		s.run(10 * time.Millisecond)
		now := leader.machine.handover.Phase != NoHandover
		if now && !offering {
			offers++
		}
		offering = now
	}
	assert.Equal(t, leader, s.leader(), "it leads on")
	assert.Positive(t, offers)
	assert.Less(t, offers, 10, "in a minute, at a detection time of 300 ms")
}
