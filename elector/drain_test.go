// Nodes are taken out of service without loss.

package elector_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/electiontest"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// ledBy counts the groups that each node leads.
func (f *fleet) ledBy() (led map[int]int) {
	led = make(map[int]int)
	nodes, _ := f.leaders()
	for _, node := range nodes {
		led[node]++
	}
	return led
}

// write has a node write in some groups what their leaders have written.
func (f *fleet) write(l *electiontest.Ledgers, node int, in func(group string) bool) {
	f.t.Helper()
	for _, el := range f.hosts[node].Electors() {
		if in(el.Status().Group) {
			l.Write(f.t, el)
		}
	}
}

// all names all groups.
func all(string) bool { return true }

// elections counts how often the terms of all groups have risen since before.
func (f *fleet) elections(before []memberstate.Term) (elections int) {
	_, terms := f.leaders()
	for i := range terms {
		elections += int(terms[i] - before[i])
	}
	return elections
}

func drain(h *elector.Host) error { return h.Drain(context.Background()) }

func TestADrainedNodeLeadsNothingAndTheOthersShareItsGroups(t *testing.T) {
	withFleetOf(t, &fleet{groups: 300, timing: elector.DefaultTiming()}, func(f *fleet) {
		before := f.ledBy()
		_, terms := f.leaders()
		began := time.Now()
		require.NoError(t, drain(f.hosts[0]))
		assert.Less(t, time.Since(began), 3*f.timing.Heartbeat, "in virtual time, a heartbeat of which it waits at the end")
		led := f.ledBy()
		assert.Zero(t, led[0])
		assert.Zero(t, led[-1])
		assert.InDelta(t, led[1], led[2], 3, "they lead as many each")
		assert.Equal(t, before[0], f.elections(terms), "each of its groups is elected once, and no other")
		p := f.hosts[0].Progress()
		assert.Equal(t, rpc.Drained, p.Standing.State)
		assert.Equal(t, before[0], p.Moved)
		<-time.After(time.Minute)
		assert.Zero(t, f.ledBy()[0])
		assert.Equal(t, before[0], f.elections(terms), "nothing comes back")
	})
}

// Nodes are replaced one after another. Each that comes back leads nothing, until the next one gives.
func TestEachDrainGivesToTheNodeThatLeadsTheFewest(t *testing.T) {
	withFleetOf(t, &fleet{groups: 300, timing: elector.DefaultTiming()}, func(f *fleet) {
		for node := range f.hosts {
			before := f.ledBy()
			require.NoError(t, drain(f.hosts[node]))
			led := f.ledBy()
			assert.Equal(t, f.groups, led[(node+1)%3]+led[(node+2)%3])
			assert.InDelta(t, f.groups/2, led[(node+1)%3], 5, "drain of node %d: %v after %v", node, led, before)
			require.NoError(t, f.hosts[node].Serve())
			<-time.After(f.timing.Detection())
		}
	})
}

func TestADrainedNodeLeadsWhatNobodyElseCan(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, drain(f.hosts[0]))
		require.NoError(t, drain(f.hosts[1]))
		assert.Equal(t, map[int]int{2: f.groups}, f.ledBy())
		var stuck *elector.StuckError
		require.ErrorAs(t, drain(f.hosts[2]), &stuck)
		assert.Equal(t, f.groups, stuck.Progress.Led)
		assert.Equal(t, map[int]int{2: f.groups}, f.ledBy(), "each has a leader throughout")
		f.kill(2)
		<-time.After(5 * f.timing.Detection())
		led := f.ledBy()
		assert.Equal(t, f.groups, led[0]+led[1], "those that are drained lead on")
		require.NoError(t, f.hosts[0].Serve())
		<-time.After(5 * f.timing.Detection())
		assert.Equal(t, map[int]int{0: f.groups}, f.ledBy(), "until somebody serves")
		f.revive(2)
	})
}

func TestANodeServesAgainOnlyWhenItIsToldTo(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, drain(f.hosts[0]))
		f.kill(1)
		<-time.After(5 * f.timing.Detection())
		assert.Equal(t, map[int]int{2: f.groups}, f.ledBy(), "the drained one stands last")
		require.NoError(t, f.hosts[0].Serve())
		<-time.After(f.timing.Detection())
		require.NoError(t, drain(f.hosts[2]))
		assert.Equal(t, map[int]int{0: f.groups}, f.ledBy())
		f.revive(1)
	})
}

func TestANewProcessOfADrainedNodeServes(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, drain(f.hosts[0]))
		f.kill(0)
		f.revive(0)
		<-time.After(5 * f.timing.Detection())
		require.NoError(t, drain(f.hosts[1]))
		led := f.ledBy()
		assert.Zero(t, led[1])
		assert.NotZero(t, led[0])
	})
}

// An older version takes the place of a node that was drained. It exchanges no beats, so it cannot say that it serves.
func TestANewProcessWithoutBeatsOfADrainedNodeServes(t *testing.T) {
	older := false
	withFleet(t, func(node int, c *elector.HostConfig) { c.NoNodeBeats = older && node == 0 }, func(f *fleet) {
		require.NoError(t, drain(f.hosts[0]))
		older = true
		f.kill(0)
		f.revive(0)
		<-time.After(2 * f.timing.Detection())
		assert.False(t, f.peers(1)[0].Known, "of its present process nothing is known")
		require.NoError(t, drain(f.hosts[1]))
		require.NoError(t, drain(f.hosts[2]))
		assert.Equal(t, map[int]int{0: f.groups}, f.ledBy())
	})
}

// Nobody takes it for serving while it drains, although it answers leaders that offer no bond.
func TestANodeWithoutBeatsThatDrainsIsNotTakenForServing(t *testing.T) {
	older := false
	withFleet(t, func(node int, c *elector.HostConfig) { c.NoNodeBeats = older && node == 0 }, func(f *fleet) {
		require.NoError(t, drain(f.hosts[0]))
		older = true
		f.kill(0)
		f.revive(0)
		require.NoError(t, drain(f.hosts[0]))
		<-time.After(2 * f.timing.Detection())
		require.NoError(t, drain(f.hosts[1]))
		assert.Equal(t, map[int]int{2: f.groups}, f.ledBy())
	})
}

func TestANodeThatHoldsLeadsNothingUntilItServes(t *testing.T) {
	withFleet(t, func(node int, c *elector.HostConfig) { c.Hold = node == 0 }, func(f *fleet) {
		assert.Zero(t, f.ledBy()[0])
		assert.Equal(t, rpc.Starting, f.hosts[0].Progress().Standing.State)
		require.NoError(t, drain(f.hosts[1]))
		assert.Equal(t, map[int]int{2: f.groups}, f.ledBy())
		require.NoError(t, f.hosts[0].Serve())
		<-time.After(f.timing.Detection())
		require.NoError(t, drain(f.hosts[2]))
		assert.Equal(t, map[int]int{0: f.groups}, f.ledBy())
	})
}

// Whoever asks before the first group has started, as a check whether the engine is ready, is told no.
func TestAHostThatHoldsSaysSoFromTheBeginning(t *testing.T) {
	c := elector.IsolatedNode(new(memberstate.MemStore))
	c.Hold, c.Capacity = true, 200
	p := elector.MustHost(t, c).Progress()
	assert.Equal(t, rpc.Starting, p.Standing.State)
	assert.Equal(t, 200, p.Capacity)
}

// Without beats between nodes the members say so in their answers.
func TestANodeIsDrainedWithoutBeats(t *testing.T) {
	withFleet(t, func(_ int, c *elector.HostConfig) { c.NoNodeBeats = true }, func(f *fleet) {
		require.NoError(t, drain(f.hosts[0]))
		<-time.After(time.Second)
		assert.Zero(t, f.ledBy()[0])
		require.NoError(t, drain(f.hosts[1]))
		assert.Equal(t, map[int]int{2: f.groups}, f.ledBy())
	})
}

func TestADrainEndsWithItsContextAndGoesOn(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		f.isolate(0, true)
		because, leave := context.WithCancelCause(context.Background())
		leave(assert.AnError)
		require.ErrorIs(t, f.hosts[0].Drain(because), assert.AnError)
		assert.Equal(t, rpc.Draining, f.hosts[0].Progress().Standing.State, "it is ordered, and nobody waits for it")
		ctx, cancel := context.WithTimeout(context.Background(), f.timing.Heartbeat)
		defer cancel()
		err := f.hosts[0].Drain(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Contains(t, err.Error(), "elector: the node still leads ")
		f.isolate(0, false)
		<-time.After(10 * time.Second)
		assert.Zero(t, f.ledBy()[0])
		assert.Equal(t, rpc.Drained, f.hosts[0].Progress().Standing.State)
	})
}

// n0's groups wait for voters that are there and cannot take over, and not when nobody is there.
func TestAPatientDrainWaitsForVotersThatAreThere(t *testing.T) {
	var l electiontest.Ledgers
	ends := func(node int, c *elector.GroupConfig) {
		id, group := fmt.Sprint("n", node), c.Group
		c.LedgerEnd = func(memberstate.Term) memberstate.Position { return l.End(id, group) }
	}
	withFleetOf(t, &fleet{groups: fleetGroups, timing: elector.DefaultTiming(), group: ends}, func(f *fleet) {
		require.NoError(t, drain(f.hosts[1]))
		require.NoError(t, drain(f.hosts[2]))
		require.NoError(t, f.hosts[1].Serve())
		require.NoError(t, f.hosts[2].Serve())
		<-time.After(f.timing.Detection())
		require.Equal(t, map[int]int{0: f.groups}, f.ledBy())
		f.write(&l, 0, all)
		var stuck *elector.StuckError
		require.ErrorAs(t, drain(f.hosts[0]), &stuck)
		require.NoError(t, stuck.Cause)
		assert.False(t, stuck.Progress.Deserted())
		assert.Equal(t, f.groups, stuck.Progress.Stuck[protocol.StuckBehind])

		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, f.hosts[0].DrainPatiently(ctx), context.DeadlineExceeded)
		assert.Equal(t, 10*time.Second, time.Since(began))
		f.write(&l, 1, all)
		f.write(&l, 2, all)
		require.NoError(t, f.hosts[0].DrainPatiently(context.Background()))

		require.NoError(t, f.hosts[0].Serve())
		<-time.After(f.timing.Detection())
		require.NoError(t, drain(f.hosts[2]))
		require.NoError(t, drain(f.hosts[1]))
		require.ErrorAs(t, f.hosts[0].DrainPatiently(context.Background()), &stuck)
		assert.True(t, stuck.Progress.Deserted())
		assert.True(t, stuck.Progress.Hopeless)
		require.NoError(t, stuck.Cause)
	})
}

// n0's engines write all the time, so the other ledgers are always behind when n1 is asked, and catch up soon after.
func TestADrainHandsOverWhatIsWrittenToAllTheTime(t *testing.T) {
	var l electiontest.Ledgers
	written := func(node int, c *elector.GroupConfig) {
		id, group := fmt.Sprint("n", node), c.Group
		c.LedgerEnd = func(memberstate.Term) memberstate.Position {
			end := l.End(id, group)
			if at := time.Now(); end.Index > 0 {
				if node > 0 {
					at = at.Add(-20 * time.Millisecond)
				}
				end.Index = uint64(at.UnixMilli() / 10)
			}
			return end
		}
	}
	withFleetOf(t, &fleet{groups: fleetGroups, timing: elector.DefaultTiming(), group: written}, func(f *fleet) {
		require.NoError(t, drain(f.hosts[1]))
		require.NoError(t, drain(f.hosts[2]))
		require.NoError(t, f.hosts[1].Serve())
		<-time.After(f.timing.Detection())
		require.Equal(t, map[int]int{0: f.groups}, f.ledBy())
		for node := range f.hosts {
			f.write(&l, node, all)
		}
		require.NoError(t, drain(f.hosts[0]))
	})
}

// A drain under way goes on with another number.
func TestADrainHandsOverAsManyGroupsAtATimeAsIsAsked(t *testing.T) {
	withFleetOf(t, &fleet{groups: 900, timing: elector.DefaultTiming()}, func(f *fleet) {
		before := f.ledBy()[0]
		ended := make(chan error, 2)
		largest := func() (largest int) {
			for range 20 {
				<-time.After(time.Millisecond)
				largest = max(largest, f.hosts[0].Progress().Moving)
			}
			return largest
		}
		for _, most := range []int{4, 7} {
			go func() { ended <- f.hosts[0].DrainInFlight(context.Background(), most, most == 7) }()
			assert.Equal(t, most, largest())
			assert.Positive(t, f.ledBy()[0])
		}
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
		assert.Equal(t, before, f.hosts[0].Progress().Moved)
		for _, wrong := range []int{-1, math.MaxInt32 + 1} {
			var bad *elector.ConfigError
			require.ErrorAs(t, f.hosts[0].DrainInFlight(context.Background(), wrong, false), &bad)
			assert.Equal(t, "DrainInFlight", bad.Field)
		}
	})
}

func TestAServingNodeIsNotDeserted(t *testing.T) {
	p := elector.Progress{Led: 3}
	assert.False(t, p.Deserted())
	p.Stuck[protocol.StuckNoVoter], p.Stuck[protocol.StuckLeaving], p.Stuck[protocol.StuckNotAble] = 1, 2, 3
	p.Led = 6
	assert.True(t, p.Deserted())
	p.Led++
	assert.False(t, p.Deserted(), "one is being handed over")
	assert.False(t, (&elector.Progress{}).Deserted(), "nothing is left")
}

func TestAStuckErrorSaysWhatIsLeft(t *testing.T) {
	some := elector.Progress{Led: 12, Waiting: 2, Moving: 1}
	some.Stuck[protocol.StuckNoVoter], some.Stuck[protocol.StuckBehind], some.Stuck[protocol.StuckBusy] = 4, 3, 2
	for want, stuck := range map[string]*elector.StuckError{
		"elector: the node leads nothing, but not yet for a heartbeat: context canceled":              {Cause: context.Canceled},
		"elector: the node still leads 1 group (1 to be handed over): elector: the node is protected": {elector.Progress{Led: 1, Waiting: 1}, elector.ErrProtected},
		"elector: the node still leads 12 groups (3 to be handed over, 4 no voter, 3 behind, 2 busy)": {Progress: some},
		"elector: the node still leads 2 groups (2 to be handed over): context deadline exceeded":     {elector.Progress{Led: 2, Moving: 2}, context.DeadlineExceeded},
	} {
		assert.EqualError(t, stuck, want)
		assert.Equal(t, stuck.Cause, errors.Unwrap(stuck))
	}
}

func TestServeEndsADrain(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, drain(f.hosts[1]))
		require.NoError(t, drain(f.hosts[2]))
		ended := make(chan error, 1)
		go func() { ended <- drain(f.hosts[0]) }()
		<-time.After(f.timing.Heartbeat)
		require.NoError(t, f.hosts[0].Serve())
		require.ErrorIs(t, <-ended, elector.ErrServing)
		assert.Equal(t, map[int]int{0: f.groups}, f.ledBy())
	})
}

func TestADrainEndsWhenTheLastGroupEnds(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		f.isolate(0, true)
		drained := make(chan error)
		go func() { drained <- drain(f.hosts[0]) }()
		synctest.Wait()
		for _, el := range f.hosts[0].Electors() {
			require.NoError(t, el.Stop(endedContext()))
		}
		require.NoError(t, <-drained)
		assert.Equal(t, rpc.Drained, f.hosts[0].Progress().Standing.State)
		f.isolate(0, false)
		f.revive(0)
	})
}

func TestAHostWithoutGroupsIsNotDrained(t *testing.T) {
	h := elector.IsolatedHost(t, new(memberstate.MemStore))
	require.ErrorIs(t, drain(h), elector.ErrStopped)
	require.ErrorIs(t, h.Serve(), elector.ErrStopped)
}
