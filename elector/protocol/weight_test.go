// What a node counts of weights and capacities, says of them, and makes of what others say.

package protocol

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// The sum is kept when groups come, change, and go, whether they are packed or not.
func TestANodeCountsTheWeightOfWhatItLeads(t *testing.T) {
	c := newCrossing(t, 3)
	n, all := c.leads.node, c.leads.groups
	weight := func() int { return n.Progress().Weight }
	all[0].Weigh(4)
	assert.Zero(t, weight(), "it has not counted the group yet")
	c.passes(4 * time.Second)
	require.NotNil(t, all[0].packed)
	assert.Equal(t, 3, n.Progress().Led)
	assert.Equal(t, 6, weight())
	require.NoError(t, n.SetWeight(all[1], MaxWeight))
	assert.Equal(t, 5+MaxWeight, weight())
	require.NoError(t, n.SetWeight(all[1], 0))
	assert.Equal(t, 6, weight())
	n.open(all[0])
	all[0].Role = memberstate.Follower
	n.countLed(all[0])
	assert.Equal(t, 2, weight())
	require.NoError(t, n.SetWeight(all[0], 9))
	assert.Equal(t, 2, weight(), "it does not lead the group")
	require.NoError(t, n.SetWeight(all[2], 7))
	n.End(all[2])
	assert.Equal(t, 1, weight())
	assert.ErrorIs(t, n.SetWeight(all[2], 2), ErrStopped)
	assert.Equal(t, 1, weight())
}

// The caller is told that the weight is another one before the turn ends, and may look at the node's progress then.
func TestAWeightThatChangesIsShownAtOnce(t *testing.T) {
	c := newCrossing(t, 2)
	c.passes(time.Second)
	n, g := c.leads.node, c.leads.groups[0]
	require.Equal(t, 2, n.draining.shown.Weight)
	shown := 0
	n.Do(&Request{
		Subject: Subject{Kind: AskWeight, Group: g}, Number: 9,
		Settled: func(err error) {
			require.NoError(t, err)
			shown = n.draining.shown.Weight
		},
	})
	assert.Equal(t, 10, shown)
}

func TestABeatSaysWhatIsNotUsual(t *testing.T) {
	c := newCrossing(t, 2)
	c.passes(time.Second)
	said := func() *rpc.Beat {
		c.leads.beats = nil
		c.leads.node.sendBeat(c.leads.node.peers.members["n1"])
		return c.leads.beats[0]
	}
	assert.Equal(t, uint32(3), said().Leads)
	assert.Zero(t, said().Extra)
	assert.Zero(t, said().Capacity)
	require.NoError(t, c.leads.node.SetWeight(c.leads.groups[0], 8))
	c.leads.node.SetCapacity(50)
	assert.Equal(t, uint32(3), said().Leads)
	assert.Equal(t, uint32(7), said().Extra)
	assert.Equal(t, uint16(50), said().Capacity)
	c.leads.node.stands.extra = math.MaxUint32 + 1
	assert.Equal(t, uint32(math.MaxUint32), said().Extra, "as much as can be said")
}

func TestWhatAPeerSaysIsItsLoad(t *testing.T) {
	c := newCrossing(t, 1)
	c.passes(time.Second)
	n, p := c.follows.node, c.follows.node.peers.members["n0"]
	assert.Equal(t, load{1, 100}, p.load())
	b := *c.leads.node.beats.write.Clone()
	b.Leads, b.Extra, b.Capacity = 11, 5, 200
	n.Beat(&b)
	assert.Equal(t, load{15, 200}, p.load())
	assert.Equal(t, [3]int{10, 15, 200}, [3]int{n.Peers()[0].Led, n.Peers()[0].Weight, n.Peers()[0].Capacity})
	b.Leads, b.Extra, b.Capacity = 11, 0, 0
	n.Beat(&b)
	assert.Equal(t, load{10, 100}, p.load(), "an older version counts groups")
	b.Leads, b.Extra, b.Capacity = 11, 5, 200
	n.Beat(&b)
	n.forgetStanding(p)
	assert.Zero(t, n.Peers()[0].Capacity, "an earlier process has said it")
	assert.Zero(t, n.Peers()[0].Weight)
}

// All that a beat can say, of many nodes.
func TestNoLoadIsTooLarge(t *testing.T) {
	const nodes = 1000
	f := resting(t)
	n, g := f.node, f.groups[0]
	g.notes.set(isLed, true)
	g.Weigh(MaxWeight)
	n.beats.every = time.Second
	for _, own := range []uint64{0, math.MaxUint32, 2 * math.MaxUint32} {
		for _, said := range []peer{
			{leads: 1},
			{leads: 1, capacity: 1},
			{leads: 1, capacity: math.MaxUint16},
			{leads: math.MaxUint32, extra: math.MaxUint32},
			{leads: math.MaxUint32, extra: math.MaxUint32, capacity: 1},
			{leads: math.MaxUint32, extra: math.MaxUint32, capacity: math.MaxUint16},
		} {
			for _, capacity := range []int{0, 1, MaxCapacity} {
				n.stands.extra = own
				n.SetCapacity(capacity)
				n.beats.peers = nil
				for i := range nodes {
					p := said
					p.id, p.told, p.spokeAt = fmt.Sprint("n", i+1), true, n.now
					n.beats.peers = append(n.beats.peers, &p)
				}
				for i := range 2 {
					g.peers[i+1] = n.beats.peers[i]
				}
				for p, t1 := range n.takers() {
					assert.Less(t, float64(p.load().weight)/float64(p.load().capacity), float64(n.load().weight)/float64(n.load().capacity))
					assert.GreaterOrEqual(t, t1.room, int64(0))
					assert.LessOrEqual(t, t1.room, n.load().weight)
				}
				for _, one := range n.chooseGifts(n.takers()) {
					assert.Positive(t, n.load().excess(one.to.load().with(MaxWeight)))
				}
				n.takesFirst(g)
			}
		}
	}
}

// All give together what one is short of, by what each should lead.
func TestAllNodesTogetherGiveWhatACapacityIsShortOf(t *testing.T) {
	n, others := balancer(1000, 0, 0, 700)
	n.SetCapacity(200)
	others[1].capacity = 50
	for range 20 {
		n.balancing.round++
		takers := n.takers()
		assert.Len(t, takers, 2, "the third has a larger load")
		assert.InDelta(t, 1000*100/450, takers[others[0]].room, 1)
		assert.InDelta(t, 1000*50/450, takers[others[1]].room, 1)
	}
}

func TestWhatIsEvenDependsOnCapacities(t *testing.T) {
	for name, c := range map[string]struct {
		own, extra, capacity int
		it                   peer
		gives                bool
	}{
		"two more":                          {8, 0, 100, peer{leads: 7}, false},
		"three more":                        {9, 0, 100, peer{leads: 7}, true},
		"three more in weight":              {6, 3, 100, peer{leads: 7}, true},
		"the other has more weight":         {9, 0, 100, peer{leads: 7, extra: 1}, false},
		"twice the capacity":                {12, 0, 200, peer{leads: 7}, false},
		"twice the capacity, and much more": {18, 0, 200, peer{leads: 7}, true},
		"the other has twice the capacity":  {6, 0, 100, peer{leads: 7, capacity: 200}, true},
		"the other is small":                {9, 0, 100, peer{leads: 7, capacity: 50}, false},
		"a tenth of the mean":               {1050, 0, 100, peer{leads: 951}, false},
		"a tenth, and both are small":       {1050, 0, 50, peer{leads: 951, capacity: 50}, false},
		"more, and both are small":          {1060, 0, 50, peer{leads: 951, capacity: 50}, true},
	} {
		n, others := balancer(c.own, 0)
		n.stands.extra = uint64(c.extra)
		n.SetCapacity(c.capacity)
		others[0].leads, others[0].extra, others[0].capacity = c.it.leads, c.it.extra, c.it.capacity
		assert.Equal(t, c.gives, len(n.takers()) == 1, name)
	}
}

// heavy is a node that leads some groups of these weights, and two that have less to do.
func heavy(t *testing.T, first, second uint32, weights ...int) (*Node, []*peer) {
	t.Helper()
	f := resting(t)
	n, g := f.node, f.groups[0]
	f.groups = nil
	for _, weight := range weights {
		one := *g
		one.Weigh(weight)
		one.notes.set(isLed, true)
		f.groups = append(f.groups, &one)
		n.stands.led++
		n.stands.extra += uint64(one.extra)
	}
	all := []*peer{n.peerOf(g, 2), n.peerOf(g, 3)}
	all[0].leads, all[1].leads = first+1, second+1
	for _, p := range all {
		p.told, p.spokeAt = true, n.now
	}
	n.beats.peers, n.beats.every = all, time.Second
	return n, all
}

func TestAGroupGoesOnlyIfTheLargerLoadIsLessThen(t *testing.T) {
	for name, c := range map[string]struct {
		weights []int
		others  uint32
		to      uint16
		gives   bool
	}{
		"half of the difference":  {weights: []int{50, 50}, gives: true},
		"nearly all of it":        {weights: []int{50, 50}, others: 49, gives: true},
		"all of it":               {weights: []int{50, 50}, others: 50},
		"the only one":            {weights: []int{60}},
		"it goes to a large node": {weights: []int{60}, to: 10_000, gives: true},
	} {
		n, all := heavy(t, c.others, c.others, c.weights...)
		for _, p := range all {
			p.capacity = c.to
		}
		given := false
		for range 64 {
			n.balancing.round++
			for _, one := range n.chooseGifts(n.takers()) {
				given = true
				assert.Positive(t, n.load().excess(one.to.load().with(one.group.weight())), name)
			}
		}
		assert.Equal(t, c.gives, given, name)
	}
}

// It weighs more than one node may give at a time, so it goes at some times only, and what weighs less goes first.
func TestAHeavyGroupGoesNowAndThen(t *testing.T) {
	const rounds = 200
	gives := func(weights ...int) (light, heavier int) {
		n, _ := heavy(t, 40, 0, weights...)
		for range rounds {
			n.balancing.round++
			for _, one := range n.chooseGifts(n.takers()) {
				if one.group.weight() == 1 {
					light++
				} else {
					heavier++
				}
			}
		}
		return light, heavier
	}
	light, heavier := gives(20, 20)
	assert.Zero(t, light)
	assert.InDelta(t, rounds*40/3/20, heavier, 10, "a third of the difference each time, and a group weighs twenty")
	light, heavier = gives(slices.Repeat([]int{1}, 40)...)
	assert.Equal(t, rounds, light, "one in a hundred, or one")
	assert.Zero(t, heavier)
	light, heavier = gives(append([]int{20}, slices.Repeat([]int{1}, 20)...)...)
	assert.Equal(t, rounds, light)
	assert.Zero(t, heavier)
}

func TestGiftsCountAtOnce(t *testing.T) {
	n, all := heavy(t, 0, 0, slices.Repeat([]int{2}, 600)...)
	given := make(map[*peer]int)
	for _, one := range n.chooseGifts(n.takers()) {
		given[one.to]++
	}
	assert.Equal(t, 3, given[all[0]])
	assert.Equal(t, 3, given[all[1]])
}

func TestTheTurnsOfAllTimesAreEven(t *testing.T) {
	for _, n := range []int64{1, 2, 300, 1 << 40} {
		b, low, sum := balancing{}, 0, 0.0
		for range 100 {
			b.round++
			turn := b.turn("n0", n)
			require.GreaterOrEqual(t, turn, int64(0))
			require.Less(t, turn, n)
			if sum += float64(turn) / float64(n); turn < n/4 {
				low++
			}
		}
		if n > 2 {
			assert.InDelta(t, 50, sum, 2)
			assert.InDelta(t, 25, low, 2)
		}
	}
}
