// Failures of hosts that exchange beats, and what must not come of them.

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

// slowDisk is a store whose saves take long, once it is slow.
type slowDisk struct {
	memberstate.Store
	slow *atomic.Bool
}

func (s slowDisk) Save(batch []memberstate.Record) error {
	if s.slow.Load() {
		<-time.After(50 * time.Millisecond)
	}
	return s.Store.Save(batch)
}

// isolate cuts a node off, or connects it again.
func (f *fleet) isolate(node int, cut bool) {
	for other := range f.hosts {
		f.cut(node, other, cut)
		f.cut(other, node, cut)
	}
}

// cut cuts a link one way, or connects it again.
func (f *fleet) cut(from, to int, cut bool) {
	f.network.SetLink(fmt.Sprint("n", from), fmt.Sprint("n", to), rpc.Link{Delay: time.Millisecond, Cut: cut})
}

// kill has a node's process end without a word, and revive starts another one.
func (f *fleet) kill(node int) {
	f.t.Helper()
	f.isolate(node, true)
	require.NoError(f.t, f.hosts[node].Close(endedContext()))
}

func (f *fleet) revive(node int) {
	f.t.Helper()
	f.isolate(node, false)
	f.start(node)
}

// fullQueue is a transport that has no room for messages to n0 while it is full.
type fullQueue struct {
	rpc.BeatTransport
	full *atomic.Bool
}

func (q fullQueue) Send(to string, batch []rpc.Message) {
	if to != "n0" || !q.full.Load() {
		q.BeatTransport.Send(to, batch)
	}
}

// led counts the groups that have a leader as a node sees it.
func (f *fleet) led(node int) (led int) {
	for i := range f.groups {
		if f.hosts[node].Elector(fmt.Sprint("g", i)).Status().Leader != "" {
			led++
		}
	}
	return led
}

// A node dies, and to save a vote takes the others longer than a turn is. Each of its groups is elected once, and
// all the others go on.
func TestSlowDisksMultiplyNoElections(t *testing.T) {
	var slow atomic.Bool
	f := &fleet{groups: 60, timing: elector.DefaultTiming()}
	f.change = func(_ int, c *elector.HostConfig) { c.Store = slowDisk{c.Store, &slow} }
	f.timing.RoundTimeout = 400 * time.Millisecond // a round of votes takes two saves, and perhaps waits for two others
	withFleetOf(t, f, func(f *fleet) {
		nodes, terms := f.leaders()
		slow.Store(true)
		f.isolate(0, true)
		<-time.After(3 * f.timing.Detection())
		still, in := f.leaders()
		taken := map[int]int{}
		for i, node := range nodes {
			if node != 0 {
				assert.Equal(t, []any{node, terms[i]}, []any{still[i], in[i]}, "g%d", i)
				continue
			}
			taken[still[i]]++
			assert.Equal(t, terms[i]+1, in[i], "g%d", i)
		}
		assert.Len(t, taken, 2, "both of the others lead some of them")
		assert.NotContains(t, taken, -1)
		assert.NotContains(t, taken, 0)
	})
}

// n0 does not hear n1. Its groups that follow there ask in vain: after a while one of them at a time, once a heartbeat.
// Nobody else notices, and the leaders at n1 rest.
func TestANodeThatIsDeafToAnotherRaisesNoTerm(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		nodes, terms := f.leaders()
		f.cut(1, 0, true)
		<-time.After(3 * time.Second)
		messages, _ := f.traffic(10 * time.Second)
		most := 5 * int64(10*time.Second/f.timing.Heartbeat)
		assert.LessOrEqual(t, messages, most, "two questions and two answers in an interval, for one group at a time; and n0 asks now and then whether n1 is there")
		assert.Greater(t, messages, most/2)
		f.assertLed(nodes, terms)
		f.cut(1, 0, false)
		<-time.After(3 * time.Second)
		f.assertLed(nodes, terms)
		assert.Equal(t, f.groups, f.led(0))
		messages, _ = f.traffic(3 * time.Second)
		assert.Zero(t, messages, "they rest again")
	})
}

func TestADeadNodeKeepsNobodyAwake(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, f.hosts[0].Close(endedContext()))
		<-time.After(3 * time.Second)
		nodes, terms := f.leaders()
		_, first := f.traffic(time.Minute)
		messages, beats := f.traffic(time.Hour)
		assert.LessOrEqual(t, messages, f.asked(time.Hour))
		assert.Equal(t, 60*first, beats, "no minute costs more than the first")
		f.assertLed(nodes, terms)
	})
}

// A host is replaced by one that exchanges no beats. Its members are sent heartbeats again after a while, even where none
// of them can ask for votes. When it exchanges beats again, all rest.
func TestAHostThatBecomesMuteFollows(t *testing.T) {
	for name, observes := range map[string]bool{"observers": true, "voters": false} {
		t.Run(name, func(t *testing.T) {
			mute := false
			f := &fleet{groups: 200, timing: elector.DefaultTiming(), observes: observes}
			f.change = func(node int, c *elector.HostConfig) { c.NoNodeBeats = mute && node == 2 }
			withFleetOf(t, f, func(f *fleet) {
				for range 2 {
					mute = !mute
					f.kill(2)
					<-time.After(time.Minute) // all others rest without it
					nodes, terms := f.leaders()
					f.revive(2)
					<-time.After(20 * f.timing.Heartbeat)
					assert.Equal(t, f.groups, f.led(2))
					f.assertLed(nodes, terms)
					<-time.After(time.Minute)
					assert.Equal(t, f.groups, f.led(2))
					messages, _ := f.traffic(3 * time.Second)
					assert.Equal(t, mute, messages > 0, "%d", messages)
				}
			})
		})
	}
}

// A node comes back, and others call their followers there, one group after another. Whatever cuts that off, in
// the end all groups are led, and rest.
func TestACallOfFollowersMayBeCutOff(t *testing.T) {
	both, all := []int{1, 2}, []int{0, 1, 2}
	for name, c := range map[string]struct {
		happens func(f *fleet, full *atomic.Bool)
		living  []int
	}{
		"who calls dies":            {func(f *fleet, _ *atomic.Bool) { f.kill(1) }, []int{0, 2}},
		"who calls starts anew":     {func(f *fleet, _ *atomic.Bool) { f.kill(1); f.revive(1) }, all},
		"who is called dies":        {func(f *fleet, _ *atomic.Bool) { f.kill(0) }, both},
		"who is called starts anew": {func(f *fleet, _ *atomic.Bool) { f.kill(0); f.revive(0) }, all},
		"a queue is full for a while": {func(f *fleet, full *atomic.Bool) {
			full.Store(true)
			<-time.After(f.timing.Heartbeat)
			full.Store(false)
		}, all},
	} {
		t.Run(name, func(t *testing.T) {
			var full atomic.Bool
			f := &fleet{groups: 300, timing: elector.DefaultTiming()}
			f.change = func(_ int, c *elector.HostConfig) {
				c.Transport = fullQueue{c.Transport.(rpc.BeatTransport), &full}
			}
			withFleetOf(t, f, func(f *fleet) {
				f.kill(0)
				<-time.After(3 * time.Second)
				f.revive(0)
				called := f.sent[1].messages.Load
				for before := called(); called() == before; {
					<-time.After(100 * time.Microsecond)
				}
				before := called()
				<-time.After(time.Millisecond)
				require.Less(t, called()-before, int64(f.groups/3), "it has called some, and not all")
				c.happens(f, &full)
				<-time.After(5 * time.Second)
				for _, node := range c.living {
					assert.Equal(t, f.groups, f.led(node), "at n%d", node)
				}
				messages, _ := f.traffic(3 * time.Second)
				var most int64
				if len(c.living) < len(all) {
					most = f.asked(3 * time.Second)
				}
				assert.LessOrEqual(t, messages, most)
			})
		})
	}
}

// Hosts without beats are replaced by hosts with beats one after another, and one of them goes back. Who is not
// restarted keeps its offices, and groups rest once all hosts exchange beats.
func TestHostsAreUpgradedOneAfterAnother(t *testing.T) {
	old := [3]bool{true, true, true}
	f := &fleet{groups: fleetGroups, timing: elector.DefaultTiming()}
	f.change = func(node int, c *elector.HostConfig) { c.NoNodeBeats = old[node] }
	withFleetOf(t, f, func(f *fleet) {
		for _, node := range []int{0, 1, 2, 1} {
			nodes, terms := f.leaders()
			f.kill(node)
			old[node] = !old[node]
			f.revive(node)
			<-time.After(3 * time.Second)
			still, in := f.leaders()
			for i := range nodes {
				assert.NotEqual(t, -1, still[i], "g%d", i)
				if nodes[i] != node {
					assert.Equal(t, []any{nodes[i], terms[i]}, []any{still[i], in[i]}, "g%d is led on while n%d is upgraded", i, node)
				}
			}
			messages, _ := f.traffic(3 * time.Second)
			assert.Equal(t, old == [3]bool{}, messages == 0, "%v", old)
			for range 20 {
				<-time.After(f.timing.Heartbeat / 2)
				for other := range f.hosts {
					assert.Equal(t, f.groups, f.led(other), "at n%d", other)
				}
			}
		}
	})
}
