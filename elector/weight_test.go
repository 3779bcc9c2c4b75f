// Groups that are more work to lead than others, and nodes of different capacity.

package elector_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// weigh has every fourth group weigh as much as nine.
func weigh(_ int, c *elector.GroupConfig) {
	var number int
	_, _ = fmt.Sscanf(c.Group, "g%d", &number)
	if c.Weight = 1; number%4 == 0 {
		c.Weight = 9
	}
}

// weights are those of what each node leads, by its own word.
func (f *fleet) weights() (all [3]float64) {
	for node, h := range f.hosts {
		all[node] = float64(h.Progress().Weight)
	}
	return all
}

// leads is the weight of what each node leads, by the groups' own words.
func (f *fleet) leads() (all [3]float64) {
	leaders, _ := f.leaders()
	for i, node := range leaders {
		c := elector.GroupConfig{Group: fmt.Sprint("g", i)}
		weigh(node, &c)
		all[node] += float64(c.Weight)
	}
	return all
}

func TestNodesThatBalanceLeadAboutAsMuchForTheirCapacity(t *testing.T) {
	capacities := [3]int{0, 50, 200}
	uneven(t, &fleet{groups: 120, group: weigh, change: func(node int, c *elector.HostConfig) { c.Capacity = capacities[node] }}, func(f *fleet) {
		f.balance(often)
		<-time.After(200 * often)
		assert.Equal(t, f.leads(), f.weights())
		const all, mean = 30*9 + 90, (30*9 + 90) / 3.5
		assert.InDelta(t, mean, f.leads()[0], mean/10)
		assert.InDelta(t, mean/2, f.leads()[1], mean/10)
		assert.InDelta(t, all, f.leads()[0]+f.leads()[1]+f.leads()[2], 0)
		_, terms := f.leaders()
		<-time.After(100 * often)
		assert.Zero(t, f.elections(terms), "nothing moves any more")
		assert.Equal(t, "no other node that serves leads much less for its capacity", f.plan(0).Why)
		assert.Equal(t, 200, f.hosts[2].Progress().Capacity)
		assert.Equal(t, 100, f.hosts[0].Progress().Capacity)
		p := f.peers(0)[1]
		assert.Equal(t, 200, p.Capacity)
		assert.InDelta(t, f.leads()[2], p.Weight, 0)
		assert.Equal(t, f.ledBy()[2], p.Led)
	})
}

// What weighs more may be given to one node, and the rest to another one.
func TestADrainGivesToTheNodeWithTheSmallestLoad(t *testing.T) {
	withFleetOf(t, &fleet{groups: 120, timing: elector.DefaultTiming(), group: weigh}, func(f *fleet) {
		for node := range f.hosts {
			before := f.leads()
			require.NoError(t, drain(f.hosts[node]))
			led := f.leads()
			assert.InDelta(t, led[(node+1)%3], led[(node+2)%3], 10, "drain of node %d: %v after %v", node, led, before)
			assert.Equal(t, led, f.weights())
			require.NoError(t, f.hosts[node].Serve())
			<-time.After(f.timing.Detection())
		}
	})
}

// A weight counts at once, also for a group that rests, and no more when the group has ended.
func TestAWeightChangesWhileTheGroupRuns(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		<-time.After(5 * time.Second) // so that all groups rest
		led := f.ledBy()[0]
		require.Positive(t, led)
		assert.Equal(t, led, f.hosts[0].Progress().Weight)
		var leader *elector.Elector
		for _, el := range f.hosts[0].Electors() {
			require.NoError(t, el.SetWeight(5))
			if el.Status().Role == memberstate.Leader {
				leader = el
			}
		}
		assert.Equal(t, 5*led, f.hosts[0].Progress().Weight)
		require.NoError(t, leader.SetWeight(2))
		assert.Equal(t, 5*(led-1)+2, f.hosts[0].Progress().Weight)
		require.NoError(t, leader.Stop(endedContext()))
		synctest.Wait() // the turn ends
		assert.Equal(t, 5*(led-1), f.hosts[0].Progress().Weight)
		for _, el := range f.hosts[0].Electors() {
			require.NoError(t, el.SetWeight(0))
		}
		assert.Equal(t, led-1, f.hosts[0].Progress().Weight)
	})
}
