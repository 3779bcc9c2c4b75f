// A follower hears its leader, promises to stand by it, and keeps forgotten promises after a restart.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestAFollowerForgetsItsCampaign(t *testing.T) {
	m := Machine{
		State: memberstate.State{HardState: memberstate.HardState{Term: 1}}, round: round{phase: voting, instantRevotes: 2}, fromHint: true, restartHold: true,
	}
	m.follow(new(Output), 2)
	assert.Equal(t, idle, m.round.phase)
	assert.Zero(t, m.round.instantRevotes)
	assert.False(t, m.fromHint)
	assert.False(t, m.restartHold)
}

// A candidate that hears the winner of its term follows. A vote that arrives then elects it no more.
func TestALateVoteDoesNotElectAFollower(t *testing.T) {
	a := startedAlone(t)
	a.rules.PreVote = false
	a.ring()
	ballot, asked, mark := a.machine.Open()
	require.Equal(t, rpc.Success, a.asked(theLeader, a.beat(asked, 1)))
	a.hears(2, memberstate.Nobody, rpc.Body{Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: mark, Round: ballot, Term: asked, Asked: asked})
	assert.Equal(t, DropStaleAnswer, a.out.Dropped)
	assert.Equal(t, memberstate.Follower, a.machine.Role)
}

// An append counts like a heartbeat, of any term from the member's own on, if another voter has sent it that may lead.
func TestWhichAppendsAreHeard(t *testing.T) {
	for what, c := range map[string]struct {
		seat memberstate.Seat
		term memberstate.Term
		drop Drop
	}{
		"its leader's":                 {theLeader, 5, 0},
		"another one's in this term":   {2, 5, DropMalformed},
		"a later leader's":             {2, 6, 0},
		"its leader's in a later term": {theLeader, 6, 0},
		"an earlier leader's":          {2, 4, DropMalformed},
		"its own":                      {1, 6, DropMalformed},
		"an observer's":                {4, 6, DropMalformed},
		"of the largest term that is":  {2, 5 + memberstate.MaxTermStep, 0},
		"of a term that cannot be":     {2, 6 + memberstate.MaxTermStep, DropImpossibleTerm},
	} {
		for _, observer := range []bool{false, true} {
			a := startedAlone(t)
			a.machine.Term = 5
			a.rules.All = memberstate.SetOf(1, 2, 3, 4)
			if observer {
				a.rules.Voters = memberstate.SetOf(2, 3)
			}
			a.restart()
			require.Equal(t, rpc.Success, a.asked(theLeader, a.beat(5, 1)))
			before := a.machine
			a.give(Input{Kind: Heard, Seat: c.seat, Term: c.term})
			assert.Equal(t, c.drop, a.out.Dropped, what)
			if c.drop != 0 {
				assert.Equal(t, before, a.machine, what)
				continue
			}
			assert.Equal(t, c.term, a.machine.Term, what)
			assert.Equal(t, c.seat, a.machine.Leader, what)
			assert.Equal(t, c.term > 5, a.out.Save, what)
			assert.Equal(t, a.rules.Timing.Detection(), a.out.Alarm.Min, what)
		}
	}
}

// The append of a later leader ends the restart hold like its heartbeat, and is followed in its own term.
func TestAnAppendOfALargerTermEndsTheRestartHold(t *testing.T) {
	a := followingAlone(t, true)
	a.restart()
	a.give(Input{Kind: Heard, Seat: 2, Term: 4})
	assert.EqualValues(t, 4, a.machine.Term)
	assert.EqualValues(t, 2, a.machine.Leader)
	assert.False(t, a.machine.restartHold)
}

// D13: all members lose their connections at the same moment, so a follower that acts on the report waits for its turn
// only. An observer does not act on it.
func TestAReportThatALeaderIsLost(t *testing.T) {
	a := followingIn(t, 3, false)
	a.give(Input{Kind: PeerLost, Seat: theLeader})
	assert.Equal(t, memberstate.Candidate, a.machine.Role)
	assert.Equal(t, a.out.Alarm.Min, a.out.Alarm.Max)
	assert.Zero(t, a.out.Alarm.Min%a.machine.slot(a.rules))

	observer := startedAlone(t)
	observer.rules.Voters = memberstate.SetOf(2, 3)
	observer.restart()
	require.Equal(t, rpc.Success, observer.asked(theLeader, observer.beat(1, 1)))
	before := observer.machine
	observer.give(Input{Kind: PeerLost, Seat: theLeader})
	assert.Equal(t, before, observer.machine)
}

// After a silence the last leader's turn comes last, because it is the one that has fallen silent.
func TestTheSilentLeaderStandsLast(t *testing.T) {
	for term := range memberstate.Term(3) {
		var waits []time.Duration
		for self := range memberstate.Seat(2) {
			a := startedAlone(t)
			a.rules.Self, a.machine.Term = self+1, term+1
			a.restart()
			require.Equal(t, rpc.Success, a.asked(theLeader, a.beat(term+1, 1)))
			a.ring()
			waits = append(waits, a.out.Alarm.Min)
		}
		r := threeRules()
		assert.ElementsMatch(t, []time.Duration{r.lead(), r.shortestSlot() + r.lead()}, waits, "in term %d", term+1)
	}
}

// An observer whose leader falls silent does not stand, so it waits for nothing.
func TestAnObserverWaitsForItsLeaderOnly(t *testing.T) {
	a := startedAlone(t)
	a.rules.Voters = memberstate.SetOf(2, 3, 4)
	a.restart()
	assert.Zero(t, a.out.Alarm, "it has just started")
	require.Equal(t, rpc.Success, a.asked(theLeader, a.beat(1, 1)))
	assert.Equal(t, a.rules.Timing.Detection(), a.out.Alarm.Min)
	for range 2 {
		a.ring()
		assert.Equal(t, memberstate.Nobody, a.machine.Leader)
		assert.Zero(t, a.out.Alarm)
	}
}

func TestALeaderWithoutLeasesIsPromisedNone(t *testing.T) {
	r := threeRules()
	r.Lease = time.Second
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}}}
	assert.False(t, m.promise(r, new(Output), 0))
	assert.Zero(t, m.Promise)
}

// A voter that cannot stand by a leader for as long as the leader counts on says so.
func TestALeaseBeyondAllTimingsIsNotPromised(t *testing.T) {
	r := threeRules()
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}}}
	assert.False(t, m.promise(r, new(Output), maxDetection+1))
	assert.Zero(t, m.Promise)
	assert.True(t, m.promise(r, new(Output), maxDetection))
	assert.Equal(t, maxDetection, m.Promise)
}

func TestAnObserverPromisesNothing(t *testing.T) {
	a := startedAlone(t)
	a.rules.Voters, a.rules.Lease = memberstate.SetOf(2, 3, 4), a.rules.Timing.Detection()
	a.restart()
	require.Equal(t, memberstate.Observer, a.machine.Role)
	require.Equal(t, rpc.Success, a.asked(theLeader, a.beat(1, 1)))
	assert.False(t, a.out.Reply.Promised)
	assert.Zero(t, a.machine.Promise)
}

// A quorum has elected the leader of a larger term since, so any promise to another one is over.
func TestALargerTermEndsTheRestartHold(t *testing.T) {
	m, out := Machine{restartHold: true}, Output{}
	m.Step(threeRules(), &Input{Kind: Receive, Message: Message{From: 2, Leader: 2, Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1}}}, &out)
	assert.Equal(t, rpc.TermNotReady, out.Reply.Result)
	assert.False(t, m.restartHold)
}

// Voters that were restarted together have waited for the same time, so then they take turns, as after any silence.
func TestAfterTheRestartHoldMembersTakeTurns(t *testing.T) {
	first := map[memberstate.Seat]time.Duration{}
	for seat := range memberstate.Seat(3) {
		a := followingAlone(t, true)
		a.rules.Self = seat + 1
		a.restart()
		require.GreaterOrEqual(t, a.out.Alarm.Min, a.rules.Lease)
		a.ring()
		assert.True(t, a.idle())
		first[seat] = a.out.Alarm.Min
		a.ring()
		assert.False(t, a.idle())
	}
	assert.NotEqual(t, first[0], first[1])
	assert.NotEqual(t, first[1], first[2])
	assert.NotEqual(t, first[2], first[0])
}

// A report that a leader is lost is about that leader. The next one may be lost, too.
func TestTheNextLeaderMayBeLostToo(t *testing.T) {
	a := followingAlone(t, false)
	for term := memberstate.Term(2); term < 5; term++ {
		a.give(Input{Kind: PeerLost, Seat: theLeader})
		require.Equal(t, memberstate.Candidate, a.machine.Role, "in term %d", term-1)
		for a.asked(theLeader, a.beat(term, 1)) != rpc.Success {
			require.Equal(t, rpc.TermNotReady, a.out.Reply.Result)
		}
		require.Equal(t, memberstate.Follower, a.machine.Role)
	}
}
