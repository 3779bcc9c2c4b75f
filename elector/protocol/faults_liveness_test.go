// What makes DLedger slow, or stuck, or restless, and must not happen here.

package protocol

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A node that is behind in log but ahead in term teaches nobody its term, and
// stays a candidate for ever.
func TestFault08ALargerTermWithAPoorLedgerIsNotStuck(t *testing.T) {
	joinsWithLargerTerm(t, time.Millisecond)
}

// And where that was mended, it stays stuck if it is 30 ms away.
func TestFault09NeitherIsItFromFarAway(t *testing.T) {
	joinsWithLargerTerm(t, 30*time.Millisecond)
}

func joinsWithLargerTerm(t *testing.T, delay time.Duration) {
	t.Helper()
	s := newStage(t, stageOptions{members: threeVoters()})
	s.delay = delay
	leader := s.elect()
	poor := s.actors[0]
	poor.crash()
	for _, a := range s.actors[1:] {
		a.ledger = memberstate.Position{Term: 1, Index: 10}
	}
	poor.disk.Term = 9
	poor.start()
	s.runUntil(2*time.Second, "it follows", s.settled)
	assert.Equal(t, leader, s.leader())
	assert.Greater(t, leader.machine.Term, memberstate.Term(9))
}

// Whoever comes back with a larger term deposes a healthy leader.
func TestFault10WhoComesBackDeposesNobody(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	leader := s.elect()
	away := s.actors[0]
	term := leader.machine.Term
	s.cutOff(away, true)
	s.run(time.Minute)
	s.cutOff(away, false)
	s.runUntil(time.Second, "it follows", s.settled)
	assert.Equal(t, leader, s.leader())
	assert.Equal(t, term, leader.machine.Term, "its return raised the term")
}

// The first candidate asks those that have not noticed yet, is told that there
// is a leader, and sleeps for another three heartbeats.
func TestFault11AFailoverTakesOneDetectionTime(t *testing.T) {
	for seed := range uint64(50) {
		s := newStage(t, stageOptions{members: threeVoters(), seed: seed})
		leader := s.elect()
		s.run(time.Second)
		leader.crash()
		// The last heartbeat, its silence, two slots, and the round trips.
		limit := leader.rules.Timing.Detection()*11/10 + 10*s.delay
		s.runUntil(limit, "a new leader", func() bool { return s.leader() != nil && s.settled() })
	}
}

// And who is told that there is a leader asks again after about a heartbeat, not
// after three: the leader may have died since.
func TestFault11WhoIsToldOfALeaderAsksAgainSoon(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	leader := s.elect()
	deaf := s.without(leader)[0]
	s.link(leader, deaf).cut = true
	s.runUntil(time.Second, "it asks", func() bool { return deaf.rounds() == 1 })
	s.run(leader.rules.Timing.Detection() * 2)
	assert.GreaterOrEqual(t, deaf.rounds(), uint32(3))
}

// A lost round ends only when the slowest peer has answered.
func TestFault12ALostRoundEndsWithoutTheSilent(t *testing.T) {
	s := newStage(t, stageOptions{members: memberstate.Voters("n0", "n1", "n2", "n3", "n4")})
	for _, a := range s.actors[:4] {
		a.start()
		a.ledger = memberstate.Position{Term: 0, Index: 10}
	}
	poor := s.actors[0]
	poor.ledger = memberstate.Position{}
	poor.give(Input{Kind: Stand})
	assert.Equal(t, preVoting, poor.machine.round.phase)
	s.run(2 * s.delay)
	assert.Equal(t, idle, poor.machine.round.phase, "three of five have refused, and it waits for the fifth")
}

// A candidate that waits for its round cannot raise its term, so its rival asks
// it again every 10 ms: 500 to 1,100 requests in one failover.
func TestFault13AFailoverTakesFewRounds(t *testing.T) {
	s := newStage(t, stageOptions{members: memberstate.Voters("n0", "n1", "n2", "n3", "n4"), noPreVote: true, noRanks: true})
	leader := s.elect()
	leader.crash()
	before := s.rounds()
	s.runUntil(time.Minute, "a new leader", func() bool { return s.leader() != nil && s.settled() })
	assert.Less(t, s.rounds()-before, 20)
}

// Nor can a voter that is never ready keep a candidate asking at full speed.
func TestFault13RevotesAtOnceAreFew(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters(), noPreVote: true})
	candidate, never := s.actors[0], s.actors[1]
	candidate.start()
	candidate.give(Input{Kind: Stand})
	for range 100 {
		m := &candidate.machine
		candidate.ask(never, rpc.Body{
			Kind: rpc.VoteResponse, Result: rpc.RejectTermNotReady, Round: m.ballot, Term: m.Term - 1, Asked: m.Term,
		})
	}
	assert.Equal(t, uint32(1+maxHurries), candidate.rounds())
	assert.Equal(t, idle, candidate.machine.round.phase, "it waits")
}

// rounds counts the rounds of votes so far.
func (s *stage) rounds() (n int) {
	for _, a := range s.actors {
		n += int(a.machine.ballot)
	}
	return n
}

// A new leader whose first beat fails steps down at once.
func TestFault14ANewLeaderHasADetectionTime(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	s.startAll()
	s.runUntil(time.Minute, "a leader", func() bool { return s.leader() != nil })
	leader := s.leader()
	s.cutOff(leader, true)
	s.run(leader.rules.Timing.Heartbeat * 2)
	assert.Equal(t, memberstate.Leader, leader.machine.Role)
	s.run(leader.rules.Timing.Heartbeat * 2)
	assert.Equal(t, memberstate.Candidate, leader.machine.Role, "and no more than that")
}

// "Raise the term" survives becoming a follower: at its next time-out the node
// jumps a term without asking.
func TestFault15ATermIsRaisedOnce(t *testing.T) {
	s, a, b, c := three(t)
	assert.Equal(t, rpc.RejectTermNotReady, a.ask(b, rpc.Body{Kind: rpc.VoteRequest, Term: 5, Ledger: memberstate.Position{Term: 5}}))
	s.runUntil(time.Minute, "a leader", s.settled)
	term := s.leader().machine.Term
	s.leader().crash()
	s.runUntil(time.Minute, "another leader", func() bool { return s.leader() != nil && s.settled() })
	assert.Equal(t, term+1, s.leader().machine.Term)
	assert.Contains(t, []*actor{a, b, c}, s.leader())
}

// Of several answers with a larger term the last one counts, not the largest.
func TestFault16TheLargestTermCounts(t *testing.T) {
	for _, terms := range [][]memberstate.Term{{7, 9}, {9, 7}} {
		s := newStage(t, stageOptions{members: threeVoters()})
		leader := s.elect()
		for i, term := range terms {
			leader.ask(s.actors[i], rpc.Body{
				Kind: rpc.HeartbeatResponse, Result: rpc.ExpiredTerm, Round: leader.machine.office.beat, Term: term, Asked: leader.machine.Term,
			})
		}
		assert.EqualValues(t, 9, leader.machine.known)
		assert.Equal(t, memberstate.Leader, leader.machine.Role, "it is not deposed by being told")
	}
}

// Members with poor ledgers raise the term again and again. Each time the others drew their
// wait anew (D19), and when one of them stood at last it asked for a term in which the poor
// ones had given their votes to themselves (D20).
func TestPoorLedgersKeepNobodyFromStanding(t *testing.T) {
	for _, measured := range []time.Duration{0, 400 * time.Millisecond} {
		for _, noRanks := range []bool{false, true} {
			for seed := range uint64(50) {
				betterLedgerLeads(t, stageOptions{noPreVote: true, noRanks: noRanks, seed: seed}, measured)
			}
		}
	}
}

// betterLedgerLeads has three of five members elect, of which one alone can win, and has
// measured such round trips before.
func betterLedgerLeads(t *testing.T, o stageOptions, measured time.Duration) {
	t.Helper()
	o.members = memberstate.Voters("n0", "n1", "n2", "n3", "n4")
	s := newStage(t, o)
	better := s.actors[2]
	for _, a := range s.actors[:3] {
		a.ledger = memberstate.Position{Term: 0, Index: 9}
		a.start()
	}
	better.ledger.Index = 10
	better.machine.roundTrip = uint32(measured.Microseconds())
	s.runUntil(5*time.Second, fmt.Sprintf("a leader, with seed %d", o.seed), s.settled)
	assert.Equal(t, better, s.leader())
}

// Nothing tells a refused candidate who the leader is.
func TestFault20ARefusalNamesTheLeader(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	leader := s.elect()
	others := s.without(leader)
	for _, a := range []*actor{leader, others[0]} {
		assert.Equal(t, rpc.RejectAlreadyHasLeader, a.ask(others[1], wouldVoteFor(leader.machine.Term+1)))
		assert.Equal(t, leader.rules.Self, a.replied.Leader)
	}
}

// without are the members but one.
func (s *stage) without(but *actor) (others []*actor) {
	for _, a := range s.actors {
		if a != but {
			others = append(others, a)
		}
	}
	return others
}
