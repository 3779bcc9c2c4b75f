// Leading is bound to the ability to work (D26): engines that hang or say that they are not well, and
// disks that hang.

package elector_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// health is that of the storage engines of a cluster.
type health struct {
	mu       sync.Mutex
	problems map[string]error
	hung     map[string]chan struct{} // until it is closed, Healthy and LedgerEnd do not return
	exits    string                   // whose Healthy ends its goroutine
}

// withHealth plays a test with engines that are asked for their health. Their word counts for a
// detection time.
func withHealth(t *testing.T, size int, play func(*cluster, *health)) {
	t.Helper()
	all := &health{problems: map[string]error{}, hung: map[string]chan struct{}{}}
	withCluster(t, size, func(c *config) {
		id := c.Self
		c.Vouch = c.Timing.Detection()
		c.Healthy = func(context.Context) error {
			all.wait(id)
			return all.problem(id)
		}
		end := c.LedgerEnd
		c.LedgerEnd = func(term memberstate.Term) memberstate.Position {
			all.wait(id)
			return end(term)
		}
	}, func(cluster *cluster) {
		defer all.recover()
		cluster.awaitLeader()
		cluster.pass(time.Second) // by then everybody has vouched
		play(cluster, all)
	})
}

func (e *health) wait(id string) {
	e.mu.Lock()
	hung := e.hung[id]
	e.mu.Unlock()
	if hung != nil {
		<-hung
	}
}

func (e *health) problem(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.exits == id {
		runtime.Goexit()
	}
	return e.problems[id]
}

// hang has an engine return from nothing any more.
func (e *health) hang(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hung[id] = make(chan struct{})
}

// falter has an engine say that it is not well.
func (e *health) falter(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.problems[id] = errors.New("compaction is behind")
}

// exit has the Healthy of an engine end its goroutine.
func (e *health) exit(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.exits = id
}

// recover has all engines work again.
func (e *health) recover() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, hung := range e.hung {
		close(hung)
	}
	clear(e.hung)
	clear(e.problems)
	e.exits = ""
}

// takesOver waits until all nodes but the old leader follow another one, and returns it with the time
// that it took. The old leader may hang.
func (cluster *cluster) takesOver(from *node) (*node, time.Duration) {
	cluster.t.Helper()
	others := cluster.others(from)
	for began := time.Now(); time.Since(began) < time.Minute; cluster.pass(time.Millisecond) {
		heir := others[0].el.Status().Leader
		follows := func(n *node) bool { return n.el.Status().Leader == heir }
		if heir != "" && heir != from.id && !slices.ContainsFunc(others, func(n *node) bool { return !follows(n) }) {
			return cluster.nodes[heir], time.Since(began)
		}
	}
	cluster.t.Fatal("nobody takes over")
	return nil, 0
}

func TestALeaderWhoseEngineHangsIsReplaced(t *testing.T) {
	withHealth(t, 3, func(cluster *cluster, all *health) {
		leader, timing := cluster.awaitLeader(), elector.DefaultTiming()
		all.hang(leader.id)
		heir, took := cluster.takesOver(leader)
		assert.Greater(t, took, timing.Detection(), "its last word counted for that long")
		assert.Less(t, took, timing.Detection()+3*timing.Heartbeat, "and then only a beat was waited for")
		assert.Equal(t, protocol.DepartedNotAble, leader.el.Status().Departure)
		assert.Equal(t, protocol.NotAbleSilent, leader.el.Status().Inability)
		assert.Equal(t, protocol.DepartedHandedOver, heir.el.Status().Departure)
		assert.False(t, cluster.serves(leader), "its Lead has been told to return")
		cluster.pass(time.Minute)
		all.recover()
		assert.Equal(t, heir, cluster.awaitLeader())
	})
}

// An engine that still answers is asked to pause its writes first, so none of them is lost.
func TestALeaderWhoseEngineIsNotWellHandsOver(t *testing.T) {
	withHealth(t, 3, func(cluster *cluster, all *health) {
		leader := cluster.awaitLeader()
		all.falter(leader.id)
		_, took := cluster.takesOver(leader)
		assert.Less(t, took, 4*elector.DefaultTiming().Heartbeat)
		assert.Equal(t, protocol.NotAbleUnhealthy, leader.el.Status().Inability)
		all.recover()
		cluster.pass(time.Minute)
		assert.Equal(t, protocol.Able, leader.el.Status().Inability)
	})
}

func TestTheLeaderLeadsOnIfAllEnginesHang(t *testing.T) {
	withHealth(t, 3, func(cluster *cluster, all *health) {
		leader := cluster.awaitLeader()
		term := leader.el.Status().Term
		for _, id := range cluster.ids {
			all.falter(id) // at the same moment
		}
		cluster.pass(time.Minute)
		assert.Equal(t, leader, cluster.awaitLeader())
		assert.Equal(t, term, leader.el.Status().Term)
	})
}

// If nobody is able there is a leader all the same.
func TestAGroupInWhichNobodyIsAbleElects(t *testing.T) {
	withHealth(t, 3, func(cluster *cluster, all *health) {
		for _, id := range cluster.ids {
			all.falter(id)
		}
		leader := cluster.awaitLeader()
		cluster.pass(time.Second)
		cluster.kill(leader)
		_, took := cluster.takesOver(leader)
		assert.Less(t, took, 2*elector.DefaultTiming().Detection(), "nobody waits for the others' turn, because none is able")
	})
}

func TestAMemberThatIsNotAbleIsPassedOver(t *testing.T) {
	withHealth(t, 5, func(cluster *cluster, all *health) {
		leader := cluster.awaitLeader()
		others := cluster.others(leader)
		for _, other := range others[1:] {
			all.falter(other.id)
		}
		cluster.pass(time.Second)
		err := leader.el.TransferLeadership(cluster.t.Context(), others[1].id)
		require.ErrorIs(t, err, elector.ErrTransferFailed)
		assert.ErrorContains(t, err, "is not able to lead")
		cluster.kill(leader)
		heir, took := cluster.takesOver(leader)
		assert.Equal(t, others[0], heir)
		assert.Less(t, took, elector.DefaultTiming().Detection()+2*elector.DefaultTiming().Heartbeat)
	})
}

// An engine that looks at its disk, say, gives up when the answer counts for nothing any more.
func TestHealthyIsGivenUpWhenItsAnswerIsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := singleConfig()
		c.Vouch = 2 * c.Timing.Heartbeat
		limits, ends := make(chan time.Duration, 10), make(chan error, 10) // more than it is asked
		c.Healthy = func(ctx context.Context) error {
			end, _ := ctx.Deadline()
			limits <- time.Until(end)
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			ends <- ctx.Err()
			return ctx.Err()
		}
		el := startElector(t, c)
		assert.Equal(t, c.Vouch, <-limits)
		assert.ErrorIs(t, <-ends, context.DeadlineExceeded)
		require.NoError(t, el.Stop(t.Context()))
	})
}

func TestAnEngineVouchesByItsWork(t *testing.T) {
	withCluster(t, 3, func(c *config) { c.Vouch = c.Timing.Detection() }, func(cluster *cluster) {
		work := func(d time.Duration, stuck *node) {
			for range d / (50 * time.Millisecond) {
				for _, n := range cluster.nodes {
					if n != stuck {
						n.el.Alive()
					}
				}
				cluster.pass(50 * time.Millisecond)
			}
		}
		work(2*time.Second, nil)
		leader := cluster.awaitLeader()
		term := leader.el.Status().Term
		work(time.Minute, nil)
		require.Equal(t, term, leader.el.Status().Term, "nothing happens to an engine that works")
		work(time.Second, leader)
		assert.NotEqual(t, leader, cluster.awaitLeader())
	})
}

// An engine that watches statuses has neither Lead nor anything else that is called, and its word counts all the same.
func TestAnEngineWithoutFunctionsVouches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := singleConfig()
		c.Vouch = c.Timing.Detection()
		el := startElector(t, c)
		for range 100 {
			el.Alive()
			<-time.After(c.Timing.Heartbeat)
		}
		assert.Equal(t, protocol.Able, el.Status().Inability)
		<-time.After(10 * c.Timing.Detection())
		assert.Equal(t, protocol.NotAbleSilent, el.Status().Inability)
		require.NoError(t, el.Stop(t.Context()))
	})
}

// A member that is not to lead is the last choice, and not forbidden.
func TestAMemberThatIsNotToLeadIsTheLastChoice(t *testing.T) {
	withCluster(t, 3, nil, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		cluster.pass(time.Second)
		require.NoError(t, leader.el.Electable(false))
		heir, took := cluster.takesOver(leader)
		assert.Less(t, took, 3*elector.DefaultTiming().Heartbeat)
		assert.Equal(t, protocol.NotAbleOrdered, leader.el.Status().Inability)
		cluster.pass(time.Second)
		others := cluster.others(heir)
		for _, other := range others {
			require.NoError(t, other.el.Electable(false))
		}
		cluster.pass(time.Second)
		cluster.kill(heir)
		next := cluster.awaitLeader()
		assert.Contains(t, others, next)
		require.NoError(t, next.el.Electable(true))
		cluster.pass(time.Second)
		assert.Equal(t, protocol.Able, next.el.Status().Inability)
		assert.Equal(t, next, cluster.awaitLeader())
		require.ErrorIs(t, heir.el.Electable(false), elector.ErrStopped)
	})
}

// withJudges plays a test with nodes that each have a function for the engines of all their groups.
func withJudges(t *testing.T, play func(*cluster, *judges)) {
	t.Helper()
	all := &judges{named: map[string][]string{}, hung: map[string]bool{}, late: map[string]bool{}, called: map[string]int{}}
	withCluster(t, 3, func(c *config) {
		id := c.Self
		c.Stalled = func(ctx context.Context) []string { return all.judge(ctx, id) }
	}, func(cluster *cluster) {
		all.free = make(chan struct{})
		defer close(all.free)
		cluster.awaitLeader()
		cluster.pass(time.Second)
		play(cluster, all)
	})
}

// judges are those functions, by node.
type judges struct {
	mu     sync.Mutex
	named  map[string][]string
	hung   map[string]bool
	late   map[string]bool // they return when their context ends
	free   chan struct{}   // closed when those that hang return
	called map[string]int
	limit  time.Duration // how long a context lasts
}

func (j *judges) judge(ctx context.Context, id string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.called[id]++
	if end, limited := ctx.Deadline(); limited {
		j.limit = time.Until(end)
	}
	if j.hung[id] {
		j.mu.Unlock()
		<-j.free
		j.mu.Lock()
	}
	if j.late[id] {
		j.mu.Unlock()
		<-ctx.Done()
		j.mu.Lock()
	}
	return j.named[id]
}

func (j *judges) set(change func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change()
}

func TestOneFunctionSpeaksForAllEnginesOfANode(t *testing.T) {
	withJudges(t, func(cluster *cluster, all *judges) {
		leader, timing := cluster.awaitLeader(), elector.DefaultTiming()
		all.set(func() {
			all.named[leader.id] = []string{"unknown", "g"}
			clear(all.called)
		})
		_, took := cluster.takesOver(leader)
		assert.Less(t, took, 4*timing.Heartbeat)
		assert.Equal(t, protocol.NotAbleUnhealthy, leader.el.Status().Inability)
		cluster.pass(time.Minute)
		all.set(func() {
			all.named[leader.id] = nil
			assert.InDelta(t, float64(time.Minute/timing.Heartbeat), float64(all.called[leader.id]), 60, "about once a heartbeat")
			assert.Equal(t, timing.Detection(), all.limit)
		})
		cluster.pass(time.Minute)
		assert.Equal(t, protocol.Able, leader.el.Status().Inability)
	})
}

func TestANodeWhoseFunctionForAllEnginesHangsDoesNotLead(t *testing.T) {
	withJudges(t, func(cluster *cluster, all *judges) {
		leader, timing := cluster.awaitLeader(), elector.DefaultTiming()
		all.set(func() { all.hung[leader.id] = true })
		_, took := cluster.takesOver(leader)
		assert.Greater(t, took, timing.Detection()-timing.Heartbeat)
		assert.Less(t, took, timing.Detection()+4*timing.Heartbeat)
		assert.Equal(t, protocol.NotAbleSilent, leader.el.Status().Inability)
	})
}

// It waits for its engines until its context ends, and then names those that have not answered.
func TestAFunctionForAllEnginesMayNameThemInTheEnd(t *testing.T) {
	withJudges(t, func(cluster *cluster, all *judges) {
		leader := cluster.awaitLeader()
		all.set(func() {
			all.late[leader.id] = true
			all.named[leader.id] = []string{"g"}
		})
		heir, _ := cluster.takesOver(leader)
		for range 100 {
			cluster.pass(elector.DefaultTiming().Heartbeat)
			assert.NotEqual(t, protocol.Able, leader.el.Status().Inability)
		}
		assert.Equal(t, heir, cluster.awaitLeader())
	})
}

// hangingStore does not return from Save while it hangs.
type hangingStore struct {
	memberstate.Store
	mu   sync.Mutex
	hung chan struct{}
}

func (s *hangingStore) Save(batch []memberstate.Record) error {
	s.mu.Lock()
	hung := s.hung
	s.mu.Unlock()
	if hung != nil {
		<-hung
	}
	return s.Store.Save(batch)
}

// Heartbeats need no disk. So a group whose own disk has nothing to do learns of a disk that hangs from
// another group of its node.
func TestALeaderWhoseDiskHangsIsReplaced(t *testing.T) {
	stores := map[string]*hangingStore{}
	withCluster(t, 3, func(c *config) {
		stores[c.Self] = &hangingStore{Store: c.Store}
		c.Store = stores[c.Self]
	}, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		other := elector.GroupOf("other", leader.id, "down", "down too")
		beside, err := leader.el.Host().Join(other)
		require.NoError(t, err)
		require.NoError(t, beside.Start())
		cluster.pass(time.Second)
		hung := make(chan struct{})
		s := stores[leader.id]
		s.mu.Lock()
		s.hung = hung
		s.mu.Unlock()
		go func() { _ = beside.Heard(5, "down") }() // so that it saves a larger term
		defer func() {
			close(hung)
			assert.NoError(cluster.t, beside.Stop(cluster.t.Context()))
		}()
		_, took := cluster.takesOver(leader)
		assert.Less(t, took, 2*elector.DefaultTiming().Detection())
		assert.Equal(t, protocol.NotAbleDisk, leader.el.Status().Inability)
		s.mu.Lock()
		s.hung = nil
		s.mu.Unlock()
	})
}

func TestVouchingIsConfiguredAsAWhole(t *testing.T) {
	c := goodConfig()
	c.Healthy = func(context.Context) error { return nil }
	assertRefused(t, c, "Vouch")
	c.Vouch = -1
	assertRefused(t, c, "Vouch")
	c.Vouch = 2*c.Timing.Heartbeat - 1
	assertRefused(t, c, "Vouch")
	c.Vouch = 2 * c.Timing.Heartbeat
	assert.NotNil(t, newElector(t, c))
}

func assertRefused(t *testing.T, c config, field string) {
	t.Helper()
	_, err := elector.New(c.HostConfig, c.GroupConfig)
	var wrong *elector.ConfigError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, field, wrong.Field)
}

// Whatever has kept all groups of a node from leading once, they leave their heartbeats to the node again later.
func TestAGroupThatHasRecoveredRestsAgain(t *testing.T) {
	var ill atomic.Bool
	names := func() (all []string) {
		for i := range fleetGroups {
			all = append(all, fmt.Sprint("g", i))
		}
		return all
	}()
	withFleet(t, func(node int, c *elector.HostConfig) {
		c.Stalled = func(context.Context) []string {
			if node == 0 && ill.Load() {
				return names
			}
			return nil
		}
	}, func(f *fleet) {
		messages, _ := f.traffic(10 * time.Second)
		require.Zero(t, messages)
		ill.Store(true)
		<-time.After(10 * f.timing.Detection())
		ill.Store(false)
		messages, _ = f.traffic(50 * f.timing.Detection())
		require.NotZero(t, messages, "whether it comes and goes is not known yet")
		<-time.After(100 * f.timing.Detection())
		messages, _ = f.traffic(10 * time.Second)
		assert.Zero(t, messages)
	})
}
