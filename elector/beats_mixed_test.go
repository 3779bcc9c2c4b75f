// Groups of different nodes, or with different intervals, which share the beats of their nodes.

package elector_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// isSpecial says whether a group is one of the half that differs from the others, with leases and without.
func isSpecial(group string) bool { return len(group) == len("g0") }

// A node calls the leaders of its own groups when it returns, and no others: those would wake with each of its beats.
func TestANodeThatReturnsWakesNoGroupOfOthers(t *testing.T) {
	var woken atomic.Int64 // and at rest again
	told := &elector.Metrics{Rests: func(string, uint32) { woken.Add(1) }}
	f := &fleet{groups: fleetGroups, timing: elector.DefaultTiming()}
	f.change = func(_ int, c *elector.HostConfig) { c.Metrics = told }
	f.group = func(_ int, c *elector.GroupConfig) {
		if isSpecial(c.Group) {
			c.Members = memberstate.Voters("n0", "n1")
		}
	}
	withFleetOf(t, f, func(f *fleet) {
		require.NoError(t, f.hosts[2].Close(endedContext()))
		<-time.After(3 * time.Second)
		nodes, terms := f.leaders()
		f.start(2)
		<-time.After(3 * time.Second)
		before := woken.Load()
		messages, _ := f.traffic(10 * time.Second)
		assert.Zero(t, messages)
		assert.Equal(t, before, woken.Load())
		f.assertLed(nodes, terms)
	})
}

// The beats are as frequent as the shortest heartbeat, and each group misses a dead leader within its own time.
func TestGroupsWithDifferentIntervalsShareBeats(t *testing.T) {
	const slower = 5
	timing := elector.DefaultTiming()
	f := &fleet{groups: fleetGroups, timing: timing, group: func(_ int, c *elector.GroupConfig) {
		if isSpecial(c.Group) {
			c.Timing.Heartbeat *= slower
		}
	}}
	withFleetOf(t, f, func(f *fleet) {
		<-time.After(5 * time.Second)
		nodes, terms := f.leaders()
		assert.NotContains(t, nodes, -1)
		messages, _ := f.traffic(10 * time.Second)
		assert.Zero(t, messages)
		f.assertLed(nodes, terms)
		f.network.SetLink("n0", "n1", rpc.Link{Cut: true})
		f.network.SetLink("n0", "n2", rpc.Link{Cut: true})
		for _, all := range []bool{false, true} {
			<-time.After(4 * timing.Detection())
			for i, node := range nodes {
				name := fmt.Sprint("g", i)
				s := f.hosts[1].Elector(name).Status()
				if node != 0 || isSpecial(name) && !all {
					assert.Equal(t, terms[i], s.Term, "%s follows its leader", name)
					continue
				}
				assert.Greater(t, s.Term, terms[i], name)
				assert.NotEmpty(t, s.Leader, name)
			}
			<-time.After(4 * (slower - 1) * timing.Detection())
		}
	})
}
