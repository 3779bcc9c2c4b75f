// How many groups a node gives to which others.

package protocol

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// balancer is a node that leads so many groups, and others that say how many they lead.
func balancer(own int, others ...uint32) (*Node, []*peer) {
	n := NewNode("n0", nil)
	n.beats.every, n.now = time.Second, time.Minute
	n.stands.led = own
	var all []*peer
	for _, led := range others {
		all = append(all, &peer{told: true, spokeAt: n.now, leads: led + 1, offers: 1})
	}
	n.beats.peers = all
	return n, all
}

func TestAllNodesTogetherGiveTheDifference(t *testing.T) {
	n, others := balancer(1000, 0, 400, 995)
	for range 20 {
		n.balancing.round++
		room := n.takers()
		assert.Len(t, room, 2)
		assert.EqualValues(t, 250, room[others[0]].room)
		assert.EqualValues(t, 150, room[others[1]].room)
	}
	n, others = balancer(9, 6)
	assert.Contains(t, n.takers(), others[0])
	n, _ = balancer(8, 6)
	assert.Empty(t, n.takers(), "two more or fewer are even")
	n, _ = balancer(1090, 980)
	assert.Len(t, n.takers(), 1)
	n, _ = balancer(1090, 990)
	assert.Empty(t, n.takers(), "a tenth of the mean is even")
}

// With many nodes each would give less than one group, so some give one each time. If all did at the same time, the other
// node would get far too many.
func TestSomeOfManyNodesGiveOneGroup(t *testing.T) {
	const nodes, fewer, rounds = 50, 15, 400
	given := make([]int64, rounds)
	for self := range nodes {
		n, others := balancer(100, append(slices.Repeat([]uint32{100}, nodes-2), 100-fewer)...)
		n.self = fmt.Sprint("n", self)
		for round := range given {
			n.balancing.round++
			given[round] += n.takers()[others[nodes-2]].room
		}
	}
	sum := int64(0)
	for _, one := range given {
		sum += one
	}
	assert.InDelta(t, fewer*rounds, sum, 0.1*fewer*rounds)
	assert.Less(t, slices.Max(given), int64(2*fewer))
}

// roomFor is a node that leads nothing, with room for so many groups.
func roomFor(p *peer, most int) map[*peer]*taker {
	return map[*peer]*taker{p: {load: p.load(), room: int64(most), all: 200}}
}

func TestNoMoreIsGivenThanThereIsRoomFor(t *testing.T) {
	f := resting(t)
	n := f.node
	second, third := *f.groups[0], *f.groups[0]
	f.groups = append(f.groups, &second, &third)
	p := n.peerOf(f.groups[0], 2)
	n.stands.led, p.leads = 1000, 1
	for most := range len(f.groups) + 1 {
		for _, g := range f.groups {
			g.notes.set(isLed, true)
		}
		assert.Len(t, n.chooseGifts(roomFor(p, most)), most)
	}
	n.stands.led = 100
	assert.Len(t, n.chooseGifts(roomFor(p, 10)), 1, "one in a hundred")
	first := n.chooseGifts(roomFor(p, 10))[0]
	n.balancing.first = first.next
	assert.NotSame(t, first.group, n.chooseGifts(roomFor(p, 10))[0].group, "another time another one")
}

// A group that has just come would have two gaps soon after one another.
func TestAGroupThatHasJustComeStays(t *testing.T) {
	f := resting(t)
	n, g := f.node, f.groups[0]
	g.notes.set(isLed, true)
	p := n.peerOf(g, 2)
	n.stands.led, p.leads = 1000, 1
	n.Balance(time.Second)
	n.balancing.begins(g, n.now)
	assert.Empty(t, n.chooseGifts(roomFor(p, 1)))
	n.now += stays * time.Second
	assert.Len(t, n.chooseGifts(roomFor(p, 1)), 1)
}

// A leader that is not preferred offers its group to those that are anyway.
func TestAGroupWithPreferredMembersGoesFromOneToAnotherOrStays(t *testing.T) {
	for name, c := range map[string]struct {
		preferred memberstate.Set
		goes      bool
	}{
		"nobody is preferred":       {goes: true},
		"both are":                  {memberstate.SetOf(1, 2), true},
		"only its leader is":        {memberstate.SetOf(1), false},
		"only the other one is":     {memberstate.SetOf(2), false},
		"one with as much to do is": {memberstate.SetOf(3), false},
	} {
		f := resting(t)
		n, g := f.node, f.groups[0]
		g.Rules.Preferred = c.preferred
		g.notes.set(isLed, true)
		p := n.peerOf(g, 2)
		n.stands.led, p.leads = 1000, 1
		assert.Equal(t, c.goes, len(n.chooseGifts(roomFor(p, 1))) == 1, name)
	}
}

func TestWhoIsGivenNothing(t *testing.T) {
	for name, change := range map[string]func(n *Node, p *peer){
		"it has said nothing":         func(_ *Node, p *peer) { p.told = false },
		"it does not serve":           func(_ *Node, p *peer) { p.standing.State = rpc.Draining },
		"it does not serve yet":       func(_ *Node, p *peer) { p.standing.State = rpc.Starting },
		"it is silent":                func(n *Node, p *peer) { p.spokeAt = n.now - countsPresent*n.beats.every },
		"it is an older version":      func(_ *Node, p *peer) { p.leads = 0 },
		"it leads as many":            func(_ *Node, p *peer) { p.leads = 101 },
		"it leads many more":          func(_ *Node, p *peer) { p.leads = 10_001 },
		"this node has lost its own":  func(n *Node, _ *peer) { n.stands.led = 0 },
		"nobody knows of the process": func(n *Node, p *peer) { n.forgetStanding(p) },
	} {
		n, others := balancer(100, 0)
		assert.Len(t, n.takers(), 1)
		change(n, others[0])
		assert.Empty(t, n.takers(), name)
	}
}

func TestHowManyMayBeSilent(t *testing.T) {
	for _, c := range []struct {
		known, silent int
		want          bool
	}{{0, 0, false}, {2, 0, false}, {2, 1, true}, {3, 1, false}, {3, 2, true}, {6, 2, false}, {6, 3, true}} {
		n, others := balancer(0, make([]uint32, c.known)...)
		for _, p := range others[:c.silent] {
			p.spokeAt = 0
		}
		n.beats.peers = append(n.beats.peers, &peer{told: true}) // it follows others only, so it has nothing to answer
		assert.Equal(t, c.want, n.tooManySilent(), c)
	}
}

// What is on its way is not counted by those that get it yet, so the node would give more than its part.
func TestNothingIsGivenWhileHandoversAreUnderWay(t *testing.T) {
	f, _ := leasing(t, 1)
	n, g := f.node, f.groups[0]
	p := n.peerOf(g, 2)
	g.notes.set(isLed, true)
	n.stands.led, n.beats.every = 1000, time.Second
	p.told, p.leads, p.spokeAt, p.standing = true, 1, n.now+time.Hour, rpc.Standing{}
	n.Balance(time.Second)
	require.Equal(t, []BalanceShare{{To: "n1", Groups: 1}}, n.PlanBalance().Shares)
	assert.Zero(t, n.balancing.first, "a question changes nothing")
	n.At(n.now + time.Second)
	n.balance()
	assert.Equal(t, 1, n.balancing.first, "the next one has its turn another time")
	for _, every := range []time.Duration{time.Second, time.Minute} { // others do not end what is under way
		n.Balance(every)
		plan := n.PlanBalance()
		assert.Equal(t, "handovers are under way", plan.Why)
		assert.Empty(t, plan.Shares)
	}
	n.Withdraw(g, g.transient().orders[0], ErrTransferFailed)
	assert.Zero(t, n.balancing.moving)
}

// More than can be remembered have begun, so all stay.
func TestNothingIsGivenAfterAStorm(t *testing.T) {
	n, _ := balancer(mostBegun+1, 0)
	n.Balance(time.Second)
	for range mostBegun {
		n.balancing.begins(new(Group), n.now)
	}
	assert.Len(t, n.balancing.lately(n.now), mostBegun)
	n.balancing.begins(new(Group), n.now)
	assert.Empty(t, n.balancing.begun)
	assert.Equal(t, "very many groups have changed their leaders lately", n.PlanBalance().Why)
	assert.Equal(t, n.now+30*time.Second, n.balancing.calm)
}

// They have begun one after the other, over a long time.
func TestOfficesThatBeganLongAgoAreNoStorm(t *testing.T) {
	n, _ := balancer(mostBegun+1, 0)
	n.Balance(time.Second)
	for range 2 * mostBegun {
		n.now += time.Second
		n.balancing.begins(new(Group), n.now)
	}
	assert.Zero(t, n.balancing.calm)
	assert.Len(t, n.balancing.begun, stays)
}

func TestAGroupIsNewForThirtyIntervals(t *testing.T) {
	n, _ := balancer(2, 0)
	n.Balance(time.Second)
	first, second := new(Group), new(Group)
	n.balancing.begins(first, 0)
	n.balancing.begins(second, time.Second)
	assert.Len(t, n.balancing.lately(30*time.Second-1), 2)
	assert.Equal(t, map[*Group]bool{second: true}, n.balancing.lately(30*time.Second))
	n.Balance(0)
	n.balancing.begins(first, 0)
	assert.Empty(t, n.balancing.begun, "it does not balance")
}
