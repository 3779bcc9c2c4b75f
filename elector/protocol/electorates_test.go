// A node whose groups have different members, or different intervals.

package protocol

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// among is an electorate of n0 and others, with this heartbeat.
func among(t *testing.T, heartbeat time.Duration, others ...string) *Electorate {
	t.Helper()
	members, err := memberstate.NewMembers(memberstate.Voters(append([]string{"n0"}, others...)...))
	require.NoError(t, err)
	timing := DefaultTiming()
	timing.Heartbeat = heartbeat
	return &Electorate{Members: members, Rules: Rules{
		Self: members.Seat("n0"), Voters: members.Voters(), All: members.All(), Timing: timing, PreVote: true, Ranks: true,
	}}
}

// joins has a group take part that follows n1, and is bonded to it.
func (f *flock) joins(name string, e *Electorate) {
	f.t.Helper()
	g := NewGroup(e, name, f.recorder)
	require.NoError(f.t, g.Restore(memberstate.Record{}, false, memberstate.Position{}))
	f.groups = append(f.groups, &g)
	f.node.Start(&g)
	for range 2 { // it adopts the term, and then follows
		f.node.Deliver(&g, f.heartbeat(&g))
		f.node.EndTurn()
		f.node.Saved(nil)
	}
	require.True(f.t, g.Bonded())
}

// heartbeatOrders are a short and a long heartbeat, in both orders.
var heartbeatOrders = map[string][]time.Duration{
	"the short one first": {10 * time.Millisecond, time.Second},
	"the long one first":  {time.Second, 10 * time.Millisecond},
}

// Its node looks at the link to the leader's node for all groups that follow it, and so as often as the most impatient one.
func TestAGroupMissesItsLeaderWithinItsOwnTime(t *testing.T) {
	for order, heartbeats := range heartbeatOrders {
		t.Run(order, func(t *testing.T) {
			f := newFlock(t)
			for _, heartbeat := range heartbeats {
				f.joins(heartbeat.String(), among(t, heartbeat, "n1", "n2"))
			}
			impatient, patient := f.Group("10ms"), f.Group("1s")
			silent := f.node.peers.members["n1"].heardAt + impatient.silenceWait(impatient.Rules)
			due, waits := f.node.nextWatch()
			assert.True(t, waits)
			assert.Equal(t, silent, due)
			f.node.At(silent - 1)
			f.node.EndTurn()
			assert.True(t, impatient.Bonded())
			f.node.At(silent)
			f.node.EndTurn()
			assert.Equal(t, memberstate.Candidate, impatient.Role)
			assert.Equal(t, memberstate.Follower, patient.Role)
		})
	}
}

// It looks at all of them with each beat.
func TestAGroupNoticesWhatHangsWithinItsOwnTime(t *testing.T) {
	for order, heartbeats := range heartbeatOrders {
		f := newFlock(t)
		n := f.node
		for _, heartbeat := range heartbeats {
			f.joins(heartbeat.String(), among(t, heartbeat, "n1", "n2"))
		}
		impatient, patient := f.Group("10ms"), f.Group("1s")
		n.saves.saving, n.saves.began = []*Group{{}}, n.now
		n.At(n.now + impatient.Rules.Timing.Detection() + 1)
		n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1})
		n.EndTurn()
		assert.Equal(t, NotAbleDisk, impatient.Inability(), order)
		assert.Equal(t, Able, patient.Inability(), order)
	}
}

// Others may elect the node again until their groups' heartbeats have told that it drains.
func TestANodeIsDrainedAfterTheLongestOfItsHeartbeats(t *testing.T) {
	for order, heartbeats := range heartbeatOrders {
		t.Run(order, func(t *testing.T) {
			f, _ := stuck(t)
			n := f.node
			for _, heartbeat := range heartbeats {
				n.enlist(among(t, heartbeat, "n1"))
			}
			n.stand(rpc.Draining)
			n.stands.ledAt = n.now
			due := n.now + time.Second
			at, empty := n.drainedAt()
			assert.True(t, empty)
			assert.Equal(t, due, at)
			n.At(due - 1)
			n.standDrained()
			assert.Equal(t, rpc.Draining, n.Standing().State)
			n.At(due)
			n.standDrained()
			assert.Equal(t, rpc.Drained, n.Standing().State)
		})
	}
}

// All groups of an electorate may have ended, while others that share it have joined and not begun.
func TestAGroupThatStartsKnowsHowTheNodesStandNow(t *testing.T) {
	f := newFlock(t)
	n, e := f.node, among(t, time.Second, "n1", "n2")
	says := func(state rpc.NodeState, changes uint32) {
		n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: uint64(changes), Standing: rpc.Standing{State: state, Changes: changes}})
	}
	says(rpc.Draining, 1)
	n.Protect(true)
	n.enlist(e)
	assert.Equal(t, Maintenance{Protected: true, LastChoice: memberstate.SetOf(e.Members.Seat("n1"))}, e.maintenance)
	n.dismiss(e)
	says(rpc.Serving, 2)
	n.Protect(false)
	n.enlist(e)
	assert.Equal(t, Maintenance{}, e.maintenance)
}

// Groups with short heartbeats want their voter back soon. Those that the peer has no part in say nothing about it.
func TestAPeerThatDoesNotServeIsAskedAtTheShortestSharedHeartbeat(t *testing.T) {
	for order, heartbeats := range heartbeatOrders {
		t.Run(order, func(t *testing.T) {
			f := newFlock(t)
			n := f.node
			n.enlist(among(t, time.Millisecond, "n2"))
			for _, heartbeat := range heartbeats {
				n.enlist(among(t, heartbeat, "n1"))
			}
			n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1, Standing: rpc.Standing{State: rpc.Draining, Changes: 1}})
			assert.Equal(t, 10*time.Millisecond, n.beats.every)
			assert.Equal(t, n.now+10*time.Millisecond, n.beats.due)
		})
	}
}

// rests has a leader of this electorate rest on n1, with those that do so already.
func (f *flock) rests(e *Electorate) (leader *Group) {
	f.t.Helper()
	g := NewGroup(e, "rests "+e.Members.ID(2), f.recorder)
	require.NoError(f.t, g.Restore(memberstate.Record{Term: 3, Voters: g.Members.Digest()}, true, memberstate.Position{}))
	with := slices.IndexFunc(f.node.beats.rest, func(c *cohort) bool { return c.electorate == e })
	if with < 0 {
		c := &cohort{electorate: e, rules: g.Rules, seats: memberstate.SetOf(e.Members.Seat("n1")), confirmed: f.node.now}
		with, f.node.beats.rest = len(f.node.beats.rest), append(f.node.beats.rest, c)
	}
	c := f.node.beats.rest[with]
	g.Role, g.Leader, g.Vote, g.running, g.cohort = memberstate.Leader, 1, 1, true, c
	g.duty().lead = lead{term: 3, running: true}
	g.duty().offers = &officeBonds{term: 3, made: g.everyoneElse()}
	g.settle(g.Rules)
	c.groups.add(&g)
	return &g
}

// Leaders of groups in which the node has no part would wake with each of its beats.
func TestANodeCallsOnlyLeadersOfItsOwnGroups(t *testing.T) {
	f := newFlock(t)
	n := f.node
	others, shared := f.rests(among(t, time.Second, "n1")), f.rests(among(t, time.Second, "n1", "n2"))
	n.call(n.peers.members["n2"])
	assert.Zero(t, others.cohort.called)
	assert.Equal(t, n.now, shared.cohort.called)
}

// newWithoutN2 is a flock that n2 has sent its last beat to.
func newWithoutN2(t *testing.T) *flock {
	t.Helper()
	f := newFlock(t)
	n, p := f.node, f.node.peers.members["n2"]
	n.beats.know(p)
	p.link.peer, p.spokeAt, p.deaf, n.beats.every = 7, n.now, true, 100*time.Millisecond // it heard nothing then
	n.peers.members["n1"].spokeAt = n.now + time.Hour
	return f
}

// probes has silent nodes probed as with the beat of this number.
func (f *flock) probes(number uint64) {
	f.node.beats.number = number
	f.node.probe()
}

// The heartbeat of a leader that has no member there would reach nobody.
func TestASilentNodeIsProbedByALeaderThatHasAMemberThere(t *testing.T) {
	f := newWithoutN2(t)
	others, shared := f.rests(among(t, time.Second, "n1")), f.rests(among(t, time.Second, "n1", "n2"))
	f.probes(countsPresent)
	assert.True(t, others.Rests() && shared.Rests(), "it has spoken lately")
	f.node.At(f.node.now + countsPresent*f.node.beats.every)
	f.probes(countsPresent)
	assert.True(t, others.Rests())
	assert.False(t, shared.Rests())
	assert.Equal(t, memberstate.SetOf(3), shared.offers().before, "it waits for that member's answer")
}

// A group may not run there, so that nothing comes back. So it is not always the same one that asks.
func TestASilentNodeIsProbedByOneLeaderAfterAnother(t *testing.T) {
	for turn := range uint64(4) {
		f := newWithoutN2(t)
		e := among(t, time.Second, "n1", "n2")
		leaders := []*Group{f.rests(e), f.rests(e), f.rests(among(t, 2*time.Second, "n1", "n2"))}
		f.node.At(f.node.now + countsPresent*f.node.beats.every)
		f.probes(countsPresent * (3 + turn))
		for i, g := range leaders {
			assert.Equal(t, i != int(turn%3), g.Rests(), "leader %d of three", i)
		}
	}
}

// Campaigns make room in the order in which they began. So a group with short intervals may wait in the queue again while
// it still has its place, because an engine hangs whose group has long ones.
func TestACampaignThatQueuesAgainHasOnePlace(t *testing.T) {
	slow, fast := newRecorders(t, 3)[0], newRecorders(t, 3)[0]
	n, m := slow.node, &slow.node.muster
	slow.group.Rules.Timing.Heartbeat *= 100
	n.LimitCampaigns(3)
	slow.start()
	for m.open == 0 {
		slow.ring()
	}
	fast.node, fast.group.name = n, "fast"
	fast.start()
	for len(m.begun.all)-m.begun.first < 3 {
		n.peerOf(&fast.group, 2).spokeAt = n.now // a quorum is there
		fast.ring()
		fast.answer()
		require.Less(t, n.now, slow.group.Rules.Timing.Detection()*2, "the slow one keeps its place meanwhile")
	}
	assert.Equal(t, 2, m.open)
	n.End(&fast.group)
	n.End(&slow.group)
	n.EndTurn()
	assert.Zero(t, m.open)
}

// A host may be given ever new members and settings.
func TestNothingIsKeptOfElectoratesThatNobodyShares(t *testing.T) {
	var s Electorates
	e := s.Share(*among(t, time.Second, "n1"))
	assert.Same(t, e, s.Share(*among(t, time.Second, "n1")))
	s.Leave(e)
	assert.NotEmpty(t, s.all, "another group has it")
	s.Leave(e)
	assert.Empty(t, s.all)
}
