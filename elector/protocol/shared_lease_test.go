// The lease that the leaders of a cohort share.

package protocol

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// leasing is a flock of leaders with leases that rest on n1 and n2 in one cohort, whose lease has just begun.
func leasing(t testing.TB, groups int) (f *flock, c *cohort) {
	t.Helper()
	f = resting(t)
	n := f.node
	e := f.group.Electorate
	r := e.Rules
	r.Lease = r.Timing.Detection()
	c = &cohort{number: 7, electorate: e, rules: &r, seats: memberstate.SetOf(2, 3), confirmed: n.now}
	f.groups = nil
	for i := range groups {
		g := NewGroup(e, fmt.Sprint("leads", i), f.recorder)
		require.NoError(t, g.Restore(memberstate.Record{Term: 3, Voters: g.Members.Digest()}, true, memberstate.Position{}))
		g.Rules, g.cohort = &r, c
		g.Role, g.Leader, g.Vote, g.running = memberstate.Leader, 1, 1, true
		g.office.beat = 20
		g.duty().lead = lead{term: 3, running: true}
		g.duty().lease.until = n.now + time.Millisecond
		g.duty().offers = &officeBonds{term: 3, made: g.everyoneElse()}
		g.settle(&r)
		c.groups.add(&g)
		f.groups = append(f.groups, &g)
	}
	for seat := range c.seats.Seats() {
		p := n.peerOf(f.groups[0], seat)
		p.answeredAt = n.now
		c.peers = append(c.peers, p)
	}
	n.beats.rest = []*cohort{c}
	n.beginLease(c)
	f.did()
	f.shared = nil
	return f, c
}

// later is a later turn, in which n1 has answered a beat that was sent then.
func (f *flock) later(after time.Duration) {
	f.node.At(f.node.now + after)
	p := f.node.peers.members["n1"]
	p.answeredAt = f.node.now
	f.node.confirm(p)
}

// However many groups share a lease, a beat renews it once, and touches none of them.
func TestABeatRenewsOneLeaseForAllLeadersThatRest(t *testing.T) {
	f, c := leasing(t, 1000)
	for _, g := range f.groups[:500] {
		f.node.packOne(g)
		require.NotNil(t, g.packed)
	}
	for range 100 {
		f.later(c.rules.Timing.Heartbeat)
	}
	assert.Empty(t, f.did())
	assert.Len(t, f.shared, 100)
	until := c.rules.leaseFrom(f.node.now)
	assert.Equal(t, sharedHold{7, until}, f.shared[99])
	for _, g := range f.groups {
		assert.Equal(t, until-f.node.now, f.node.figures(g).Lease)
	}
}

// A leader that wakes leaves the shared lease, and keeps its end: no beat extends its lease any more.
func TestALeaderThatWakesTakesTheEndOfTheLeaseAlong(t *testing.T) {
	for name, g := range map[string]int{"open": 0, "packed": 1} {
		f, c := leasing(t, 3)
		f.node.packOne(f.groups[1])
		f.later(c.rules.Timing.Heartbeat)
		until := time.Duration(c.lease)
		one := f.groups[g]
		f.node.wake(one)
		assert.Equal(t, "hold", f.did()[0], name)
		assert.Equal(t, until, one.duties.lease.until, name)
		f.later(c.rules.Timing.Heartbeat)
		assert.Equal(t, until, one.duties.lease.until, name)
		assert.Greater(t, time.Duration(c.lease), until, name)
	}
}

// The lease of its own lasts longer than the shared one: it is not taken back.
func TestALeaderThatWakesKeepsALongerLease(t *testing.T) {
	f, c := leasing(t, 1)
	g := f.groups[0]
	longer := time.Duration(c.lease) + time.Second
	g.duties.lease.until = longer
	assert.Equal(t, longer-f.node.now, f.node.figures(g).Lease)
	f.node.wake(g)
	assert.Equal(t, longer, g.duties.lease.until)
	assert.Equal(t, sharedHold{7, 0}, f.shared[0], "nobody shares the other any more")
}

// However long ago it ended, and also if the leader has never had one.
func TestALeaderWithoutALeaseHasNothingLeftOfIt(t *testing.T) {
	leases, _ := leasing(t, 1)
	for _, f := range []*flock{leases, resting(t)} {
		n, g := f.node, f.groups[0]
		n.At(n.now + time.Hour)
		assert.Zero(t, n.figures(g).Lease)
		n.packOne(g)
		require.NotNil(t, g.packed)
		assert.Zero(t, n.figures(g).Lease)
	}
}

// A group that ends while it rests has lost its lease, and gets it back by nothing.
func TestALeaderThatEndsHoldsNothingAfterwards(t *testing.T) {
	f, _ := leasing(t, 2)
	g := f.groups[0]
	f.node.End(g)
	holds := ""
	for _, did := range f.did() {
		if did == "hold" || did == "hold nothing" {
			holds = did
		}
	}
	assert.Equal(t, "hold nothing", holds, "that is the last word")
}

// A cohort goes on without a follower, and counts from an earlier beat. Its groups keep the end that they were given,
// but no group may join that the follower has promised nothing.
func TestALeaseIsNotTakenBackWhenAFollowerIsGone(t *testing.T) {
	f, c := leasing(t, 1)
	n, gone := f.node, f.node.peers.members["n1"]
	earlier := n.now
	f.later(c.rules.Timing.Heartbeat)
	until := time.Duration(c.lease)
	require.True(t, n.restsWithout(c, gone))
	assert.Equal(t, earlier, c.confirmed)
	assert.Equal(t, until, time.Duration(c.lease))
	assert.Equal(t, memberstate.SetOf(3), c.seats)
	assert.False(t, c.admits(earlier, n.now), "its followers have promised less")
	assert.True(t, c.admits(until-c.rules.leaseFrom(0), n.now))
	f.shared = nil
	n.At(n.now + 1)
	other := n.peers.members["n2"]
	other.answeredAt = earlier + 1
	n.confirm(other)
	assert.Equal(t, earlier+1, c.confirmed)
	assert.Empty(t, f.shared)
	assert.Equal(t, until, time.Duration(c.lease))
}

// The engines may have been told that they have no lease any more.
func TestASharedLeaseThatHasRunOutIsNotExtended(t *testing.T) {
	f, c := leasing(t, 2)
	until := time.Duration(c.lease)
	f.later(until - f.node.now)
	assert.Empty(t, f.shared)
	assert.Equal(t, until, time.Duration(c.lease))
	assert.False(t, c.admits(f.node.now, f.node.now), "nor does a group join")

	f, c = leasing(t, 2)
	c.over = true
	assert.False(t, c.admits(f.node.now, f.node.now))
	f.later(1)
	assert.Empty(t, f.shared)
}

// All lose their offices with the lease, except those whose own lasts longer.
func TestLeadersLoseTheirOfficesWithTheSharedLease(t *testing.T) {
	f, c := leasing(t, 4)
	n := f.node
	n.packOne(f.groups[1])
	longer := time.Duration(c.lease) + time.Second
	f.groups[2].duties.lease.until = longer
	n.At(time.Duration(c.lease))
	n.SharedLeaseOver(8)
	assert.Empty(t, f.did(), "that is another one")
	n.Do(&Request{Subject: Subject{Kind: TellSharedLeaseOver}, Number: 7})
	for i, g := range f.groups {
		assert.False(t, g.Rests())
		assert.Equal(t, i == 2, g.Role == memberstate.Leader, i)
	}
	assert.Equal(t, longer, f.groups[2].duties.lease.until)
	assert.Empty(t, n.beats.rest)
	assert.Equal(t, []sharedHold{{7, 0}}, f.shared)
	n.SharedLeaseOver(7)
}

// The process may have found the lease over just before a beat that extends it is answered. Then it does not extend it.
func TestTheProcessKnowsBestThatASharedLeaseIsOver(t *testing.T) {
	f, c := leasing(t, 2)
	f.later(c.rules.Timing.Heartbeat)
	require.True(t, c.lease.Holds(f.node.now))
	f.node.SharedLeaseOver(7)
	for _, g := range f.groups {
		assert.False(t, g.Rests(), "each leads on by its own lease, if that lasts")
	}
}

// Very many leaders lose their offices in several turns.
func TestManyLeadersLoseTheirOfficesTurnByTurn(t *testing.T) {
	f, c := leasing(t, usualTurn+3)
	n := f.node
	n.At(time.Duration(c.lease))
	n.SharedLeaseOver(7)
	assert.Len(t, c.groups, 3)
	due, waits := n.Next()
	assert.True(t, waits)
	assert.LessOrEqual(t, due, n.now, "the next turn is due")
	n.watch()
	assert.Empty(t, n.beats.rest)
}

// A leader that needs no other voter has its lease renewed by the beats that its node sends, answered or not.
func TestALoneVoterNeedsNoAnswer(t *testing.T) {
	f, c := leasing(t, 1)
	n := f.node
	c.rules.Voters, c.rules.All = memberstate.SetOf(1), memberstate.SetOf(1, 2, 3)
	f.later(time.Millisecond)
	assert.Empty(t, f.shared, "an observer's answer does not count")
	n.beats.every, n.beats.due = c.rules.Timing.Heartbeat, n.now
	c.peers[0].offers = 1
	n.nextBeat()
	assert.Equal(t, []sharedHold{{7, c.rules.leaseFrom(n.now)}}, f.shared)
}

// Its own heartbeats may be answered although the beats of its node are not. If it rested, it would have no lease but theirs.
func TestALeaderDoesNotRestUnderALeaseThatIsOver(t *testing.T) {
	for _, leases := range []bool{true, false} {
		f, c := leasing(t, 1)
		n, g := f.node, f.groups[0]
		c.rules.Timing.Leak = 2
		if c.rules.Lease = 0; leases {
			c.rules.Lease = c.rules.Timing.Detection()
		}
		beat := n.now
		over := beat + c.rules.Timing.Detection() - c.rules.Timing.DriftMargin
		n.beats.every = c.rules.Timing.Heartbeat
		for _, p := range c.peers {
			p.spokeAt, p.link.answered = n.now, 1
		}
		n.wake(g)
		g.duties.lease.until = over + time.Hour
		n.At(over - 1)
		assert.True(t, n.mayRest(g), "leases: %v", leases)
		n.At(over)
		assert.Equal(t, !leases, n.mayRest(g))
	}
}

// It takes an answer of a node that has given up all its leaders for none: nobody there has promised anything for it.
func TestTheAnswerOfANodeThatHasGivenUpRenewsNoLease(t *testing.T) {
	for epoch, renewed := range []bool{true, false} {
		f, c := leasing(t, 1)
		n := f.node
		n.beats.count(n.now + c.rules.Timing.Heartbeat)
		n.At(n.now + c.rules.Timing.Heartbeat + 1)
		n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Epoch: uint32(epoch), Answers: 1})
		assert.Equal(t, renewed, len(f.shared) > 0, "epoch %d", epoch)
		assert.True(t, f.groups[0].Rests())
	}
}

// Nor does it without leases, because it would lose its office where its own heartbeats are answered.
func TestALeaderDoesNotRestOnABeatThatWasAnsweredLongAgo(t *testing.T) {
	f, c := leasing(t, 1)
	n, g := f.node, f.groups[0]
	c.rules.Lease = 0
	interval := c.rules.Timing.Heartbeat
	n.beats.every = interval
	beat := n.now
	for _, p := range c.peers {
		p.spokeAt, p.link.answered = n.now, 1
	}
	n.wake(g)
	n.At(beat + 2*interval - 1)
	assert.True(t, n.mayRest(g))
	n.At(beat + 2*interval)
	for _, p := range c.peers {
		p.spokeAt = n.now
	}
	assert.False(t, n.mayRest(g))
}

// Its followers have promised from then on, and not from when the first leader begins to rest.
func TestTheLeaseOfANewCohortBeginsWithTheBeatThatWasAnswered(t *testing.T) {
	f, c := leasing(t, 1)
	f.node.At(f.node.now + time.Millisecond)
	f.node.beginLease(c)
	assert.Equal(t, c.rules.leaseFrom(c.confirmed), time.Duration(c.lease))
}
