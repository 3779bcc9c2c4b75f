package stress

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/elector"
)

// told returns a function that tells a tracker what a node knows about a group's leader.
func told(t *tracker, groups []string) func(node, group int, leader string) {
	return func(node, group int, leader string) {
		t.changed(node, elector.Status{Group: groups[group], Leader: leader})
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A group is led when all living nodes agree on a leader that lives.
func TestAGroupIsLedWhenAllLivingNodesAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTracker(2, 3)
		tell := told(tr, groupNames(2))
		for node := range 3 {
			tell(node, 0, "n2")
		}
		assert.Equal(t, 1, tr.count())
		tell(0, 1, "n0")
		tell(1, 1, "n0")
		tell(2, 1, "n1")
		assert.Equal(t, 1, tr.count(), "they do not agree")
		all := tr.allLed()
		assert.False(t, closed(all))
		tell(2, 1, "n0")
		assert.True(t, closed(all))
		assert.True(t, closed(tr.allLed()))
		assert.Equal(t, []int{1, 0, 1}, tr.leads())
		tell(2, 1, "")
		assert.Equal(t, 1, tr.count(), "one knows no leader")
		tell(2, 1, "n0")

		tr.dies(2)
		assert.Equal(t, 1, tr.count(), "the leader of the other is dead")
		again := tr.allLed()
		<-time.After(time.Second)
		tell(0, 0, "n1")
		assert.False(t, closed(again))
		tell(1, 0, "n1")
		assert.True(t, closed(again), "the dead node need not know")
		took, lost := tr.after()
		assert.Equal(t, []time.Duration{time.Second}, took)
		assert.Equal(t, 1, lost)
		tell(1, 0, "")
		took, lost = tr.after()
		assert.Empty(t, took, "it is not led any longer")
		assert.Equal(t, 1, lost)
	})
}

// Nodes tell a tracker of their groups while it is asked; the race detector tries the locks.
func TestATrackerIsToldWhileItIsAsked(t *testing.T) {
	tr := newTracker(2, 3)
	tell := told(tr, groupNames(2))
	var all sync.WaitGroup
	for node := range 3 {
		all.Go(func() {
			for i := range 100 {
				tell(node, i%2, nodeNames(3)[i/2%3])
			}
		})
	}
	for _, ask := range []func(){
		func() { tr.allLed() }, func() { tr.count() }, func() { tr.leads() }, func() { tr.after() }, func() { tr.dies(0) },
	} {
		all.Go(func() {
			for range 100 {
				ask()
			}
		})
	}
	all.Wait()
	assert.Equal(t, 2, tr.count(), "all were told of the same leader last")
}

func TestTheBusiestNodeLeadsTheMostGroups(t *testing.T) {
	tr := newTracker(3, 2)
	tell := told(tr, groupNames(3))
	for group, leader := range []string{"n1", "n0", "n1"} {
		tell(0, group, leader)
		tell(1, group, leader)
	}
	assert.Equal(t, 1, tr.busiest())
	tell(0, 0, "")
	assert.Equal(t, 0, tr.busiest(), "the first of those that lead equally many")
}

// If nobody is bereaved, all groups are led at once.
func TestADeathThatCostsNoLeader(t *testing.T) {
	tr := newTracker(1, 3)
	tell := told(tr, groupNames(1))
	for node := range 3 {
		tell(node, 0, "n0")
	}
	tr.dies(2)
	assert.True(t, closed(tr.allLed()))
	took, lost := tr.after()
	assert.Empty(t, took)
	assert.Zero(t, lost)
}

func TestADeathIsSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups = 199 // of which 198 are at least 99 of 100, and 197 are not
		tr := newTracker(groups, 4)
		tell := told(tr, groupNames(groups))
		for group := range groups {
			for node := range 4 {
				tell(node, group, "n1")
			}
		}
		tr.dies(1)
		for group := range groups {
			<-time.After(time.Millisecond)
			leader := "n0"
			if group < groups/4 {
				leader = "n2"
			}
			for _, node := range []int{0, 2, 3} {
				tell(node, group, leader)
			}
		}
		detection := 100 * time.Millisecond
		in := func(seconds float64) Took { return Took{seconds, seconds / detection.Seconds()} }
		d := newDeath(tr, 1, detection, time.Second)
		assert.InDelta(t, 0.1, d.Mean.Seconds, 1e-9)
		assert.Equal(t, in(0.198), d.P99)
		assert.Equal(t, in(0.199), d.Last)
		assert.Equal(t, map[string]int{"n0": 150, "n2": 49, "n3": 0}, d.Leads)
		assert.InDelta(t, 150*3/199.0, d.Uneven, 1e-9)
		assert.Equal(t, "n1", d.Node)
		assert.InDelta(t, 1, d.CPU, 1e-9)
	})
}
