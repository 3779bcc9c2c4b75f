// The shell: hosts with real goroutines, under virtual time.

package elector_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// town is a group of nodes in one process, each with a host of its own.
type town struct {
	t       *testing.T
	network *rpc.Network
	ids     []string
	nodes   map[string]*node
	change  func(*config)    // what a test wants different
	clock   func() time.Time // nil: time.Now
	offices offices
}

// node is one node with one group, in its current incarnation.
type node struct {
	id    string
	store *memberstate.MemStore
	el    *elector.Elector
	err   chan error // what Run returned
	stop  context.CancelFunc
}

// offices records who serves, and fails if one member ever serves twice at once.
type offices struct {
	mu      sync.Mutex
	serving map[string]memberstate.Term
	terms   map[memberstate.Term]string
	opened  int
}

func newTown(t *testing.T, size int, change func(*config)) *town {
	t.Helper()
	town := &town{t: t, network: rpc.NewNetwork(1), nodes: map[string]*node{}, change: change}
	town.network.SetAll(rpc.Link{Delay: time.Millisecond})
	town.offices.serving, town.offices.terms = map[string]memberstate.Term{}, map[memberstate.Term]string{}
	for i := range size {
		id := fmt.Sprintf("n%d", i)
		town.ids = append(town.ids, id)
		town.nodes[id] = &node{id: id, store: new(memberstate.MemStore)}
	}
	return town
}

// open starts every node, and has all ended when the test ends.
func (town *town) open() {
	for _, id := range town.ids {
		town.start(id)
	}
}

// close stops all nodes and waits for them.
func (town *town) close() {
	for _, n := range town.nodes {
		if n.stop != nil {
			n.stop()
		}
	}
	for _, n := range town.nodes {
		if n.stop != nil {
			assert.NoError(town.t, <-n.err)
		}
	}
}

// start begins an incarnation of a node.
func (town *town) start(id string) {
	town.t.Helper()
	n := town.nodes[id]
	c := config{
		elector.HostConfig{Self: id, Store: n.store, Transport: town.network.Join(id)},
		elector.GroupConfig{
			Group: "g", Members: memberstate.Voters(town.ids...), Timing: elector.DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
			Lead:      func(ctx context.Context, term memberstate.Term) error { return town.serve(ctx, id, term) },
		},
	}
	if town.change != nil {
		town.change(&c)
	}
	el, err := elector.New(c.HostConfig, c.GroupConfig)
	require.NoError(town.t, err)
	if town.clock != nil {
		elector.SetClock(el, town.clock)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.el, n.stop, n.err = el, cancel, make(chan error, 1)
	go func() { n.err <- el.Run(ctx) }()
}

// serve is the engine's Lead: it serves until it must not.
func (town *town) serve(ctx context.Context, id string, term memberstate.Term) error {
	o := &town.offices
	o.mu.Lock()
	assert.NotContains(town.t, o.serving, id, "it serves twice at once")
	assert.NotContains(town.t, o.terms, term, "the term was served before")
	o.serving[id], o.terms[term] = term, id
	o.opened++
	o.mu.Unlock()
	<-ctx.Done()
	o.mu.Lock()
	delete(o.serving, id)
	o.mu.Unlock()
	return nil
}

// leader waits until some node leads and all running ones follow it.
func (town *town) leader() *node {
	town.t.Helper()
	for range 10000 {
		if n := town.settled(); n != nil {
			return n
		}
		town.pass(time.Millisecond)
	}
	town.t.Fatal("no leader")
	return nil
}

// settled is the leader that all running nodes agree on, nil if they do not.
func (town *town) settled() *node {
	var leader *node
	for _, n := range town.nodes {
		if n.stop != nil && n.el.Status().Role == memberstate.Leader {
			leader = n
		}
	}
	for _, n := range town.nodes {
		if n.stop != nil && (leader == nil || n.el.Status().Leader != leader.id) {
			return nil
		}
	}
	return leader
}

// others are the nodes but one, in the order of their ids.
func (town *town) others(but *node) []*node {
	var others []*node
	for _, id := range town.ids {
		if id != but.id {
			others = append(others, town.nodes[id])
		}
	}
	return others
}

// pass lets virtual time pass.
func (town *town) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// cut cuts a node off, or connects it again.
func (town *town) cut(id string, cut bool) {
	for _, other := range town.ids {
		l := rpc.Link{Delay: time.Millisecond, Cut: cut}
		town.network.SetLink(id, other, l)
		town.network.SetLink(other, id, l)
	}
}

// end stops a node as an operator does.
func (town *town) end(n *node) error {
	n.stop()
	n.stop = nil
	return <-n.err
}

// inTown plays a test in a bubble of virtual time.
func inTown(t *testing.T, size int, change func(*config), play func(*town)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		town := newTown(t, size, change)
		town.open()
		defer town.close()
		play(town)
	})
}

func TestGroupsOfEverySizeElectAndSurviveTheirLeader(t *testing.T) {
	for _, size := range []int{1, 3, 5, 7, 9} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			inTown(t, size, nil, func(town *town) {
				first := town.leader()
				if size == 1 {
					return
				}
				town.cut(first.id, true)
				town.pass(time.Second)
				town.cut(first.id, false)
				second := town.leader()
				assert.NotEqual(t, first.id, second.id)
			})
		})
	}
}

func TestLeadNeverRunsTwiceAtOnce(t *testing.T) {
	const changes = 1000
	inTown(t, 3, nil, func(town *town) {
		ctx := context.Background()
		for range changes {
			leader := town.leader()
			require.NoError(t, leader.el.TransferLeadership(ctx, ""))
		}
		town.leader()
		town.pass(time.Millisecond)
		assert.GreaterOrEqual(t, town.offices.opened, changes)
	})
}

func TestALostProcessIsReplacedWithoutWaitingForItsSilence(t *testing.T) {
	inTown(t, 3, nil, func(town *town) {
		first := town.leader()
		town.pass(time.Second)
		town.cut(first.id, true)
		before := time.Now()
		town.network.ReportLost(first.id)
		for town.others(first)[0].el.Status().Leader == first.id || town.others(first)[0].el.Status().Leader == "" {
			town.pass(time.Millisecond)
		}
		assert.Less(t, time.Since(before), elector.DefaultTiming().Detection()/3, "in virtual time")
		town.cut(first.id, false)
		town.leader()
	})
}

func TestWhatCannotBeTransferred(t *testing.T) {
	inTown(t, 3, nil, func(town *town) {
		ctx := context.Background()
		leader := town.leader()
		follower := town.others(leader)[0]
		require.ErrorIs(t, follower.el.TransferLeadership(ctx, leader.id), elector.ErrNotLeader)
		require.ErrorIs(t, follower.el.TransferLeadership(ctx, ""), elector.ErrNotLeader)
		require.ErrorIs(t, follower.el.Resign(ctx), elector.ErrNotLeader)
		require.ErrorIs(t, leader.el.TransferLeadership(ctx, "nobody"), elector.ErrTransferFailed)
		require.NoError(t, leader.el.TransferLeadership(ctx, leader.id), "it leads already")
		for _, other := range town.others(leader) {
			town.network.SetLink(other.id, leader.id, rpc.Link{Cut: true}) // it will not answer
		}
		short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, leader.el.TransferLeadership(short, follower.id), context.DeadlineExceeded)
		assert.Equal(t, memberstate.Leader, leader.el.Status().Role)
		require.NoError(t, leader.el.Resign(ctx), "it steps down, though nobody takes over")
		assert.NotEqual(t, memberstate.Leader, leader.el.Status().Role)
		require.NoError(t, town.end(follower))
		require.ErrorIs(t, follower.el.TransferLeadership(ctx, ""), elector.ErrStopped)
		require.ErrorIs(t, follower.el.Heard(1, leader.id), elector.ErrStopped)
	})
}

// Whatever is killed, cut off and restarted, in the end one leads again.
func TestMembersComeAndGo(t *testing.T) {
	for _, size := range []int{3, 5} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			inTown(t, size, nil, func(town *town) {
				random := rand.New(rand.NewPCG(uint64(size), 0))
				for range 100 {
					n := town.nodes[town.ids[random.IntN(size)]]
					switch random.IntN(4) {
					case 0: // killed: it has no chance to say so
						town.cut(n.id, true)
						require.NoError(t, town.end(n))
						town.cut(n.id, false)
						town.start(n.id)
					case 1: // paused
						town.cut(n.id, true)
						town.pass(time.Duration(random.IntN(1000)) * time.Millisecond)
						town.cut(n.id, false)
					case 2: // stopped
						require.NoError(t, town.end(n))
						town.pass(time.Duration(random.IntN(1000)) * time.Millisecond)
						town.start(n.id)
					case 3:
						town.pass(time.Duration(random.IntN(1000)) * time.Millisecond)
					}
				}
				town.leader()
			})
		})
	}
}

func TestFailedSaveStopsTheMember(t *testing.T) {
	broken := errors.New("disk on fire")
	inTown(t, 3, nil, func(town *town) {
		leader := town.leader()
		others := town.others(leader)
		victim, heir := others[0], others[1]
		victim.store.Break(broken)
		require.NoError(t, leader.el.TransferLeadership(context.Background(), heir.id))
		require.ErrorIs(t, <-victim.err, broken)
		victim.stop = nil
		assert.True(t, victim.el.Status().Stopped)
		assert.NotEqual(t, memberstate.Leader, victim.el.Status().Role)
		assert.Equal(t, heir, town.leader(), "the others go on")
	})
}

func TestSlowCallbacksHoldUpNothing(t *testing.T) {
	channel := sync.OnceValue(func() chan struct{} { return make(chan struct{}) })
	inTown(t, 3, func(c *config) {
		release := channel() // made in the bubble
		c.Handlers = []elector.RoleHandler{stuckHandler{release}}
		lead := c.Lead
		c.Lead = func(ctx context.Context, term memberstate.Term) error {
			err := lead(ctx, term)
			<-release // long after it was told to return
			return err
		}
	}, func(town *town) {
		first := town.leader()
		town.cut(first.id, true)
		town.pass(time.Second)
		town.cut(first.id, false)
		second := town.leader()
		assert.NotEqual(t, first.id, second.id)
		town.pass(10 * time.Second)
		assert.Equal(t, second, town.settled())
		close(channel())
	})
}

// stuckHandler never comes back from a call until it is released.
type stuckHandler struct{ release chan struct{} }

func (h stuckHandler) Startup()              {}
func (h stuckHandler) Handle(elector.Status) { <-h.release }
func (h stuckHandler) Shutdown()             {}

func TestWatchSkipsButNeverMissesTheLatest(t *testing.T) {
	inTown(t, 3, nil, func(town *town) {
		leader := town.leader()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var revision uint64
		changes := 0
		for s := range leader.el.Watch(ctx) {
			require.Greater(t, s.Revision, revision)
			revision = s.Revision
			if changes++; changes == 1 {
				// While this watcher is busy the member loses its office, and more.
				require.NoError(t, leader.el.TransferLeadership(ctx, ""))
				town.leader()
				continue
			}
			assert.Equal(t, leader.el.Status(), s)
			break
		}
	})
}

func TestALoneVoterHoldsALease(t *testing.T) {
	inTown(t, 1, func(c *config) { c.Leases = true }, func(town *town) {
		only := town.leader()
		for range 100 {
			town.pass(50 * time.Millisecond)
			_, _, ok := only.el.Lease()
			require.True(t, ok)
		}
		assert.EqualValues(t, 1, only.el.Status().Term)
	})
}

func TestLeaseEndsBeforeAnotherLeads(t *testing.T) {
	inTown(t, 3, func(c *config) { c.Leases = true }, func(town *town) {
		first := town.leader()
		town.pass(100 * time.Millisecond)
		term, until, ok := first.el.Lease()
		require.True(t, ok)
		assert.Equal(t, first.el.Status().Term, term)
		assert.Positive(t, time.Until(until))
		town.cut(first.id, true)
		for holds := true; holds; _, _, holds = first.el.Lease() {
			for _, n := range town.nodes {
				assert.False(t, n != first && n.el.Status().Role == memberstate.Leader, "two leaders under one lease")
			}
			town.pass(time.Millisecond)
		}
		town.offices.mu.Lock()
		assert.NotContains(t, town.offices.serving, first.id, "its Lead outlives its lease")
		town.offices.mu.Unlock()
		town.pass(time.Second)
		town.cut(first.id, false)
		town.leader()
	})
}

func TestThousandGroupsOnThreeHosts(t *testing.T) {
	const groups = 1000
	synctest.Test(t, func(t *testing.T) {
		network := rpc.NewNetwork(1)
		network.SetAll(rpc.Link{Delay: time.Millisecond})
		ids := []string{"n0", "n1", "n2"}
		var hosts []*elector.Host
		var electors []*elector.Elector
		var leading atomic.Int64
		for _, id := range ids {
			host, err := elector.NewHost(elector.HostConfig{Self: id, Store: new(memberstate.MemStore), Transport: network.Join(id)})
			require.NoError(t, err)
			hosts = append(hosts, host)
			for i := range groups {
				el, err := host.Join(elector.GroupConfig{
					Group: fmt.Sprintf("g%d", i), Members: memberstate.Voters(ids...), Timing: elector.DefaultTiming(),
					LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
					Lead: func(ctx context.Context, _ memberstate.Term) error {
						leading.Add(1)
						defer leading.Add(-1)
						<-ctx.Done()
						return nil
					},
				})
				require.NoError(t, err)
				require.NoError(t, el.Start())
				electors = append(electors, el)
			}
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		assert.EqualValues(t, groups, leading.Load())
		require.NoError(t, hosts[2].Close(context.Background()))
		<-time.After(2 * time.Second)
		synctest.Wait()
		assert.EqualValues(t, groups, leading.Load())
		for _, host := range hosts[:2] {
			require.NoError(t, host.Close(context.Background()))
		}
		for _, el := range electors {
			<-el.Done()
		}
	})
}
