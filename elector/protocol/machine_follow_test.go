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
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}}, round: round{instantRevotes: 2}, fromHint: true, restartHold: true}
	m.follow(new(Output), 2)
	assert.Zero(t, m.round.instantRevotes)
	assert.False(t, m.fromHint)
	assert.False(t, m.restartHold)
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
