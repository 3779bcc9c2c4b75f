// Hosts that exchange beats: idle groups cost no message, and nothing else changes for them.

package elector_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// beatCounter counts what a node sends.
type beatCounter struct {
	rpc.BeatTransport
	messages, beats atomic.Int64
}

func (c *beatCounter) Send(to string, batch []rpc.Message) {
	c.messages.Add(int64(len(batch)))
	c.BeatTransport.Send(to, batch)
}

func (c *beatCounter) SendBeat(to string, b *rpc.Beat) {
	c.beats.Add(1)
	c.BeatTransport.SendBeat(to, b)
}

// fleet is three hosts with the same groups.
type fleet struct {
	t        *testing.T
	groups   int
	timing   elector.Timing
	observes bool // n2 observes all groups
	network  *rpc.Network
	hosts    [3]*elector.Host
	sent     [3]*beatCounter
	stores   [3]*memberstate.MemStore
	change   func(node int, c *elector.HostConfig)
	group    func(node int, c *elector.GroupConfig) // changes each group; nil: nothing
}

const fleetGroups = 20

// withFleet plays a test with three hosts whose groups have elected their leaders, in virtual time.
func withFleet(t *testing.T, change func(node int, c *elector.HostConfig), play func(*fleet)) {
	t.Helper()
	withFleetOf(t, &fleet{groups: fleetGroups, timing: elector.DefaultTiming(), change: change}, play)
}

// withFleetOf does so with groups that are described by the fleet.
func withFleetOf(t *testing.T, f *fleet, play func(*fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f.t, f.network = t, rpc.NewNetwork(1)
		f.network.SetAll(rpc.Link{Delay: time.Millisecond})
		for i := range f.hosts {
			f.stores[i] = new(memberstate.MemStore)
			f.start(i)
		}
		defer func() { // also if the play fails, or the bubble would only say that something still runs
			for _, h := range f.hosts {
				assert.NoError(t, h.Close(endedContext()))
			}
		}()
		<-time.After(3 * time.Second)
		synctest.Wait()
		play(f)
	})
}

func (f *fleet) start(node int) {
	f.t.Helper()
	id := fmt.Sprint("n", node)
	f.sent[node] = &beatCounter{BeatTransport: f.network.Join(id).(rpc.BeatTransport)}
	config := elector.HostConfig{Self: id, Store: f.stores[node], Transport: f.sent[node]}
	if f.change != nil {
		f.change(node, &config)
	}
	f.hosts[node] = elector.MustHost(f.t, config)
	_, err := f.hosts[node].JoinAll(func(yield func(elector.GroupConfig) bool) {
		for i := range f.groups {
			c := elector.GroupOf(fmt.Sprint("g", i), "n0", "n1", "n2")
			c.Timing, c.Members[2].Observer = f.timing, f.observes
			if f.group != nil {
				f.group(node, &c)
			}
			if !slices.ContainsFunc(c.Members, func(m memberstate.Member) bool { return m.ID == id }) {
				continue
			}
			if c.Leases = i%2 == 0; !yield(c) {
				return
			}
		}
	})
	require.NoError(f.t, err)
	require.NoError(f.t, f.hosts[node].StartAll())
}

// leaders are the nodes that lead each group; -1: none does.
func (f *fleet) leaders() (nodes []int, terms []memberstate.Term) {
	nodes, terms = make([]int, f.groups), make([]memberstate.Term, f.groups)
	for i := range nodes {
		nodes[i] = -1
		for node, h := range f.hosts {
			el := h.Elector(fmt.Sprint("g", i))
			if el == nil || el.Status().Role != memberstate.Leader {
				continue
			}
			if s := el.Status(); s.Term > terms[i] {
				nodes[i], terms[i] = node, s.Term
			}
		}
	}
	return nodes, terms
}

// asked is how many messages are sent at most, of all groups, while a node is dead: now and then one asks whether it is there.
func (f *fleet) asked(during time.Duration) int64 { return int64(during / f.timing.Heartbeat) }

// traffic is what all nodes send in this time.
func (f *fleet) traffic(during time.Duration) (messages, beats int64) {
	count := func() (messages, beats int64) {
		for _, c := range f.sent {
			messages, beats = messages+c.messages.Load(), beats+c.beats.Load()
		}
		return messages, beats
	}
	m, b := count()
	<-time.After(during)
	synctest.Wait() // others take their turns at the same moment
	messages, beats = count()
	return messages - m, beats - b
}

// assertLed checks that all groups have the leaders and terms that they had.
func (f *fleet) assertLed(nodes []int, terms []memberstate.Term) {
	f.t.Helper()
	still, in := f.leaders()
	assert.Equal(f.t, nodes, still)
	assert.Equal(f.t, terms, in)
}

func TestIdleGroupsCostNoMessages(t *testing.T) {
	told := newTally()
	withFleet(t, func(_ int, c *elector.HostConfig) { c.Metrics = told.metrics() }, func(f *fleet) {
		nodes, terms := f.leaders()
		assert.NotContains(t, nodes, -1)
		for _, node := range nodes {
			assert.Contains(t, nodes, (node+1)%3, "each node leads some")
		}
		before := told.total("beat to n")
		messages, beats := f.traffic(10 * time.Second)
		assert.Zero(t, messages)
		assert.EqualValues(t, beats, told.total("beat to n")-before, "metrics are told")
		ticks := int64(10 * time.Second / elector.DefaultTiming().Heartbeat)
		assert.InDelta(t, 3*2*2*ticks, beats, 60, "each node sends each other one a heartbeat, and answers as many")
		for i, node := range nodes {
			el := f.hosts[node].Elector(fmt.Sprint("g", i))
			assert.Equal(t, i%2 == 0, holdsLease(el), "leases go on, for those that have one")
		}
		f.assertLed(nodes, terms)
	})
}

func TestGroupsOfADeadNodeAreLedAgain(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		nodes, terms := f.leaders()
		f.network.SetLink("n0", "n1", rpc.Link{Cut: true})
		f.network.SetLink("n0", "n2", rpc.Link{Cut: true})
		<-time.After(4 * elector.DefaultTiming().Detection())
		for i, node := range nodes {
			el := f.hosts[1].Elector(fmt.Sprint("g", i))
			if node != 0 {
				assert.Equal(t, terms[i], el.Status().Term, "others keep their leaders")
				continue
			}
			assert.Greater(t, el.Status().Term, terms[i])
			assert.NotEmpty(t, el.Status().Leader)
			assert.NotEqual(t, memberstate.Leader, f.hosts[0].Elector(fmt.Sprint("g", i)).Status().Role, "no quorum answers it")
		}
	})
}

func TestARestIsInterruptedByOrders(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		nodes, _ := f.leaders()
		el := f.hosts[nodes[0]].Elector("g0")
		to := fmt.Sprint("n", (nodes[0]+1)%3)
		require.NoError(t, el.TransferLeadership(context.Background(), to))
		<-time.After(time.Second)
		assert.Equal(t, to, el.Status().Leader)
		messages, _ := f.traffic(3 * time.Second)
		assert.Zero(t, messages, "its new leader rests, too")
	})
}

func TestAGroupThatEndsAtALivingNodeIsLedAgain(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		nodes, terms := f.leaders()
		gone := f.hosts[nodes[0]].Elector("g0")
		require.NoError(t, gone.Stop(endedContext()), "it has no time to hand over")
		<-time.After(2 * elector.DefaultTiming().Detection())
		in := f.hosts[(nodes[0]+1)%3].Elector("g0").Status()
		assert.Greater(t, in.Term, terms[0])
		assert.NotEmpty(t, in.Leader, "its node's beats speak for the other groups only")
	})
}

func TestANodeWithoutBeatsKeepsHeartbeats(t *testing.T) {
	plain := func(c *elector.HostConfig) { c.Transport = struct{ rpc.Transport }{c.Transport} }
	refuses := func(c *elector.HostConfig) { c.NoNodeBeats = true }
	for name, change := range map[string]func(*elector.HostConfig){"its transport carries none": plain, "it is told so": refuses} {
		t.Run(name, func(t *testing.T) {
			one := func(node int, c *elector.HostConfig) {
				if node == 0 {
					change(c)
				}
			}
			withFleet(t, one, func(f *fleet) {
				nodes, terms := f.leaders()
				assert.Zero(t, f.sent[0].beats.Load())
				messages, _ := f.traffic(time.Second)
				assert.Positive(t, messages)
				f.assertLed(nodes, terms)
				_, known, err := f.stores[0].Load("")
				require.NoError(t, err)
				assert.False(t, known, "its starts are not counted")
			})
		})
	}
}

func TestAProcessCountsItsStartOnce(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		first := f.starts(0)
		assert.EqualValues(t, time.Now().Add(-3*time.Second).Unix(), first, "the first time it is the time in seconds")
		require.NoError(t, f.hosts[0].Close(endedContext()))
		another := join(t, f.hosts[0], "another", "n0")
		require.NoError(t, another.Start())
		assert.Equal(t, first, f.starts(0), "the process has not ended")
		require.NoError(t, another.Stop(endedContext()))
		f.start(0)
		assert.Equal(t, first+1, f.starts(0))
		<-time.After(3 * time.Second)
		messages, _ := f.traffic(10 * time.Second)
		assert.Zero(t, messages, "the others meet the new process")
	})
}

// starts is the count in a node's store.
func (f *fleet) starts(node int) memberstate.Term {
	f.t.Helper()
	r, known, err := f.stores[node].Load("")
	require.NoError(f.t, err)
	require.True(f.t, known)
	return r.Term
}

func TestAStartThatCannotBeCountedFails(t *testing.T) {
	store := newFailingStore()
	config := elector.IsolatedNode(store)
	config.NoNodeBeats = false
	host := elector.MustHost(t, config)
	err := join(t, host, "g", "n0").Start()
	require.ErrorIs(t, err, assert.AnError)
	require.ErrorContains(t, err, `counting the start of node "n0"`)
	store.failing.Store(false)
	require.NoError(t, join(t, host, "another", "n0").Start())
	_, counted, err := store.Load("")
	require.NoError(t, err)
	assert.True(t, counted, "once that works")
	require.NoError(t, host.Close(t.Context()))
}

func TestABeatWithoutATurnIsCounted(t *testing.T) {
	host := elector.IsolatedHost(t, new(memberstate.MemStore))
	host.ReceiveBeat(&rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: 1}})
	assert.EqualValues(t, 1, host.Dropped(protocol.DropQueueFull))
}

func TestANodeThatReturnsIsFollowingAgain(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, f.hosts[0].Close(endedContext()))
		<-time.After(3 * time.Second)
		messages, _ := f.traffic(3 * time.Second)
		assert.LessOrEqual(t, messages, f.asked(3*time.Second), "a node that is gone keeps nobody awake")
		nodes, terms := f.leaders()
		assert.NotContains(t, nodes, 0)
		f.start(0)
		<-time.After(4 * elector.DefaultTiming().Heartbeat) // one for its node to be heard, and two in a group whose term it does not know
		for i := range f.groups {
			assert.NotEmpty(t, f.hosts[0].Elector(fmt.Sprint("g", i)).Status().Leader)
		}
		<-time.After(3 * time.Second)
		f.assertLed(nodes, terms)
		messages, _ = f.traffic(10 * time.Second)
		assert.Zero(t, messages)
	})
}
