// What leaders that rest count.

package protocol

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// restsAfterABeat is a leader that rests on n1 and n2. They have answered its last heartbeat, which it sent that long
// after the newest beat of its node that was answered.
func restsAfterABeat(t *testing.T, after time.Duration) (f *flock, g *Group, beat time.Duration) {
	t.Helper()
	f, c := leasing(t, 1)
	n, g := f.node, f.groups[0]
	n.wake(g)
	beat = c.confirmed + after
	n.At(beat)
	g.countBeat(c.seats.With(g.Rules.Self))
	g.duties.sent.beats[g.Beat()%recentBeats] = beat
	require.True(t, g.answeredBy(c.seats, g.Rules))
	n.rest(g)
	require.True(t, g.Rests())
	return f, g, beat
}

// It rests although its node's next beat is not answered yet. If no beat is answered any more, it has missed no more
// heartbeats than if it had gone on by itself.
func TestALeaderThatRestsCountsItsLastHeartbeat(t *testing.T) {
	interval := DefaultTiming().Heartbeat
	f, g, beat := restsAfterABeat(t, interval*3/2)
	n := f.node
	n.At(beat + 3*interval + interval/2)
	assert.Equal(t, n.now-beat, n.quorumAge(g))
	n.wake(g)
	assert.Equal(t, n.now-beat, n.quorumAge(g))
	assert.Equal(t, uint32(2), g.Beat()-g.HeardBeat())
	sent, known := g.beatSent(g.HeardBeat())
	assert.True(t, known)
	assert.Equal(t, beat, sent)
	assert.Equal(t, g.Rules.Voters, g.office.acks[g.HeardBeat()%recentBeats], "both have answered it")
	assert.Zero(t, g.offers().beatAt)
}

// A later beat of its node counts as soon as a quorum has answered it.
func TestALaterBeatCountsInsteadOfTheLastHeartbeat(t *testing.T) {
	interval := DefaultTiming().Heartbeat
	f, g, beat := restsAfterABeat(t, interval)
	n := f.node
	f.later(interval)
	require.Greater(t, g.cohort.confirmed, beat)
	confirmed := n.now
	n.At(n.now + interval)
	assert.Equal(t, n.now-confirmed, n.quorumAge(g))
	n.wake(g)
	assert.Equal(t, n.now-confirmed, n.quorumAge(g))
	assert.Equal(t, memberstate.SetOf(1, 2), g.office.acks[g.HeardBeat()%recentBeats], "only n1 has answered it")
}

// It sends nothing itself, so its own heartbeats say nothing of how old its quorum is.
func TestTheFiguresOfALeaderThatRestsTellTheAgeOfItsQuorum(t *testing.T) {
	interval := DefaultTiming().Heartbeat
	f, g, beat := restsAfterABeat(t, interval)
	n := f.node
	n.At(beat + interval/2)
	assert.Equal(t, interval/2, n.figures(g).QuorumAge, "of its last heartbeat")
	f.later(interval)
	confirmed := n.now
	require.True(t, g.forgetBeat())
	n.packOne(g)
	require.NotNil(t, g.packed)
	n.At(n.now + interval/4)
	assert.Equal(t, n.now-confirmed, n.figures(g).QuorumAge, "of its node's beat")
}

// A leader beats by itself while it may hand over to a preferred member. It need not while that member's node does not serve.
func TestALeaderRestsWhileNoPreferredMemberCanTakeOver(t *testing.T) {
	for what, c := range map[string]struct {
		preferred memberstate.Set
		is        Maintenance
		rests     bool
	}{
		"none is preferred":      {rests: true},
		"it is preferred itself": {memberstate.SetOf(1, 2), Maintenance{}, true},
		"another one is":         {memberstate.SetOf(2), Maintenance{}, false},
		"which does not serve":   {memberstate.SetOf(2), Maintenance{LastChoice: memberstate.SetOf(2)}, true},
		"one of two serves":      {memberstate.SetOf(2, 3), Maintenance{LastChoice: memberstate.SetOf(2)}, false},
		"the node is protected":  {memberstate.SetOf(2), Maintenance{Protected: true}, true},
	} {
		_, g, _ := offering(t)
		g.Rules.Preferred, g.maintenance = c.preferred, c.is
		g.office.acks[g.Beat()%recentBeats] = g.Rules.All
		assert.Equal(t, c.rests, g.idle(g.Rules, time.Second, 0), what)
	}
}

// It makes no offers meanwhile, and goes on with them where it was: to a member that declines it turns ever more rarely.
func TestALeaderThatRestsKnowsWhenItsNextOfferIsDue(t *testing.T) {
	for what, c := range map[string]struct {
		beat, next, knows uint32
		protected         bool
	}{
		"it is due":                {beat: 20, next: 9, knows: 20},
		"it is not due yet":        {beat: 20, next: 29, knows: 29},
		"nor after protection":     {beat: 20, next: 29, knows: 29, protected: true},
		"the numbers have wrapped": {beat: 3, next: math.MaxUint32, knows: 3},
		"the numbers will wrap":    {beat: math.MaxUint32, next: 9, knows: 9},
	} {
		r := threeRules()
		r.Preferred, r.Maintenance = memberstate.SetOf(2), &Maintenance{Protected: c.protected}
		o := office{beat: c.beat, nextOffer: c.next, declined: 5}
		rests := o.resting(r)
		assert.Equal(t, c.knows, rests.nextOffer, what)
		assert.EqualValues(t, 5, rests.declined, what)
	}
}

// A leader asks for a new term once in a detection time. So it still knows when it wakes that it has asked just before it rested.
func TestALeaderThatRestsKnowsWhenItMayAskForANewTerm(t *testing.T) {
	for what, c := range map[string]struct{ beat, asked, knows uint32 }{
		"it has never asked":                   {beat: 20, asked: 0, knows: 17},
		"it has asked long ago":                {beat: 20, asked: 9, knows: 17},
		"it may ask again":                     {beat: 20, asked: 17, knows: 17},
		"it may not ask at the next beat":      {beat: 20, asked: 18, knows: 18},
		"it has asked with its newest beat":    {beat: 20, asked: 20, knows: 20},
		"the numbers have wrapped since":       {beat: 1, asked: math.MaxUint32, knows: math.MaxUint32},
		"the numbers have wrapped, and it may": {beat: 1, asked: math.MaxUint32 - 9, knows: math.MaxUint32 - 1},
	} {
		o := office{beat: c.beat, challenge: c.asked}
		rests := o.resting(threeRules())
		assert.Equal(t, c.knows, rests.challenge, what)
	}
}

// It stays open until then, because there is no room for the time in a packed group.
func TestALeaderIsNotPackedWhileItsLastHeartbeatCounts(t *testing.T) {
	interval := DefaultTiming().Heartbeat
	f, g, _ := restsAfterABeat(t, interval)
	n := f.node
	for range 4 {
		n.At(n.packs)
		n.pack()
		require.NotNil(t, g.desk)
	}
	f.later(0)
	n.At(n.packs)
	n.pack()
	assert.NotNil(t, g.packed)
}

// A lone voter's lease lasts less than two heartbeats longer than its newest beat. So when it wakes, its next heartbeat is
// due when its node's next beat was.
func TestALoneVoterThatWakesBeatsWhenItsNodeWouldHave(t *testing.T) {
	f, c := leasing(t, 1)
	n, g := f.node, f.groups[0]
	c.rules.Voters, c.rules.All = memberstate.SetOf(1), memberstate.SetOf(1, 2, 3)
	interval := c.rules.Timing.Heartbeat
	n.At(n.now + interval)
	n.confirmAlone()
	beat := n.now
	n.At(n.now + interval - 1)
	n.wake(g)
	assert.Equal(t, beat+interval, g.due)
}

// The function that judges all engines answers after each beat, on behalf of one of the groups that rest.
func TestAnAnswerAboutEnginesWakesNobody(t *testing.T) {
	for _, leases := range []bool{true, false} {
		f, g, _ := restsAfterABeat(t, 0)
		if !leases {
			g.Rules.Lease = 0
		}
		f.node.stalled.asker, g.working = g, g.working+1
		f.node.Stalled(nil)
		assert.True(t, g.Rests(), "leases: %v", leases)
	}
}

// All at once would send the member more heartbeats than it has room for.
func TestAReturningMemberCallsOneLeaderAfterAnother(t *testing.T) {
	const leaders, steps = 100, 10
	f, c := leasing(t, leaders)
	n := f.node
	c.called = n.now
	for step := range time.Duration(steps) {
		due, waits := n.Next()
		require.True(t, waits)
		require.Equal(t, c.called+callEvery, due, "step %d", step)
		n.At(due)
		n.EndTurn()
		assert.Len(t, c.groups, leaders-1-int(step))
	}
	n.At(n.now + steps*callEvery) // the node had other things to do
	n.EndTurn()
	assert.Len(t, c.groups, leaders-2*steps)
}

// There may be very many leaders to call. Meanwhile no quorum answers any of them.
func TestALostQuorumDoesNotWaitUntilAllLeadersAreCalled(t *testing.T) {
	f, c := leasing(t, 3)
	n := f.node
	n.At(c.losesQuorum(n.now))
	c.called = n.now
	n.EndTurn()
	for _, g := range f.groups {
		assert.False(t, g.Rests())
	}
}

// A process may have been stopped for hours. A leader steps down after so many heartbeats anyway.
func TestALeaderThatWakesHasMissedNoMoreHeartbeatsThanItMay(t *testing.T) {
	f, _ := leasing(t, 1)
	n, g := f.node, f.groups[0]
	n.At(n.now + time.Hour)
	n.wake(g)
	assert.EqualValues(t, g.Rules.Timing.Leak, g.Beat()-g.HeardBeat())
}

// The beats that it has not sent itself have been measured for its cohort.
func TestALeaderThatWakesMeasuresNoQuorum(t *testing.T) {
	f, g, _ := restsAfterABeat(t, 0)
	f.later(g.Rules.Timing.Heartbeat)
	f.node.Give(g, &Input{Kind: Served}, nil)
	require.False(t, g.Rests())
	assert.Empty(t, f.heard)
}

// Its cohort's rules say who is to be called, and when. So it rests with others only if their rules are the same.
func TestALeaderRestsWithThoseOfTheSameRulesOnly(t *testing.T) {
	for changed, want := range map[bool]uint32{false: 7, true: 10} {
		f, c := leasing(t, 2)
		n, g := f.node, f.groups[0]
		n.wake(g)
		n.beats.newest = 9
		if changed {
			rules := *c.rules
			rules.Preferred = memberstate.SetOf(2)
			g.Rules = &rules
		}
		n.rest(g)
		assert.Equal(t, want, g.cohort.number)
		assert.Equal(t, []uint32{0, want}, f.cohorts, "its metrics are those of this cohort, which need not be the newest")
		assert.Same(t, c, f.groups[1].cohort)
	}
}

// A member of whose node nothing is known may start at any time. A voter asks for votes then, and is noticed by that. But without
// a pre-vote it deposes a leader that it has not heard, and an observer asks for nothing.
func TestWhoseNodeIsUnknownIsSentHeartbeatsUnlessItWouldAsk(t *testing.T) {
	for _, c := range []struct {
		preVote, voter, sent bool
	}{{true, true, false}, {true, false, true}, {false, true, true}, {false, false, true}} {
		f := resting(t)
		n, g := f.node, f.groups[0]
		g.Rules.PreVote = c.preVote
		if !c.voter {
			g.Rules.Voters = g.Rules.Voters.Without(3)
		}
		require.Zero(t, n.peerOf(g, 3).link.peer)
		assert.Equal(t, c.sent, n.needsHeartbeats(g, 3), "%+v", c)
	}
}

// Whoever rests without it has to know, not only the leader that has asked.
func TestAllLeadersAreCalledForANodeThatWasNeverHeard(t *testing.T) {
	f := resting(t)
	n, c := f.node, f.groups[0].cohort
	c.seats, n.beats.rest = memberstate.SetOf(2), []*cohort{c}
	n.At(time.Hour)
	n.hearsMute(n.peerOf(f.groups[0], 3))
	assert.Equal(t, n.now, c.called)
}

// A node may be replaced by one without beats more than once, and leaders may rest on the members there in between.
func TestAllLeadersAreCalledWheneverANodeBecomesMute(t *testing.T) {
	f := resting(t)
	n, c := f.node, f.groups[0].cohort
	c.seats, n.beats.rest, n.beats.every = memberstate.SetOf(2), []*cohort{c}, DefaultTiming().Heartbeat
	p := n.peerOf(f.groups[0], 3)
	for round := range 2 {
		p.spokeAt = n.now
		n.At(n.now + countsPresent*n.beats.every)
		c.called = 0
		n.hearsMute(p)
		assert.Equal(t, n.now, c.called, "the node is mute for the time %d", round)
		c.called = 0
		n.At(n.now + n.beats.every)
		n.hearsMute(p)
		assert.Zero(t, c.called, "it is known by now")
	}
}

// It is there although it sends no beats. An observer asks for nothing, so it would find no leader.
func TestAMemberWhoseNodeIsMuteIsSentHeartbeats(t *testing.T) {
	for _, mute := range []bool{true, false} {
		f, g, _ := offering(t)
		n, p := f.node, f.node.peerOf(f.groups[0], 2)
		n.beats.every = DefaultTiming().Heartbeat
		require.NotZero(t, p.link.peer)
		n.At(p.spokeAt + countsPresent*n.beats.every)
		if mute {
			p.muteAt = n.now
		}
		assert.Equal(t, mute, n.needsHeartbeats(g, 2), "mute: %v", mute)
	}
}

// Its own heartbeats find members of which nothing is known, if they answer. So it sends some before it rests again.
func TestALeaderThatWakesAsksWhomItDoesNotKnow(t *testing.T) {
	f := resting(t)
	n, g := f.node, f.groups[0]
	g.place = 0
	g.cohort.groups.add(g)
	n.wake(g)
	assert.True(t, n.needsHeartbeats(g, 3))
	for range 2 * countsPresent {
		n.countPresent(g)
	}
	assert.False(t, n.needsHeartbeats(g, 3))
}

// Who has answered is counted anew now and then. Just after that nobody has had the time to answer again.
func TestWhoHasAnsweredBeforeTheCountIsThere(t *testing.T) {
	f := resting(t)
	n, g := f.node, f.groups[0]
	g.cohort = nil
	o := g.offers()
	o.rings = countsPresent - 1
	n.present(g, 3)
	for range countsPresent {
		n.countPresent(g)
		assert.True(t, n.needsHeartbeats(g, 3), "%d heartbeats after the count", o.rings)
	}
	n.countPresent(g)
	assert.False(t, n.needsHeartbeats(g, 3), "it has answered none of them")
}

// Otherwise its next campaign would ask for a term that is refused.
func TestALargerTermStaysKnownWhileTheNodeBeats(t *testing.T) {
	for name, set := range map[string]func(testing.TB) *flock{"a follower": newFlock, "a leader": resting} {
		for more, stays := range []bool{false, true} {
			g := set(t).groups[0]
			known := g.Term + memberstate.Term(more)
			g.known = known
			g.settle(g.Rules)
			if !stays {
				known = 0
			}
			assert.Equal(t, known, g.known, "%s, %d more", name, more)
		}
	}
}
