// A machine that is suspended: its monotonic clock stands still, and nothing is sent or received. The rest of the world goes on.

package elector_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// sleeper is the monotonic clock of a machine that may be suspended.
type sleeper struct {
	mu     sync.Mutex
	asleep time.Time     // since when; zero: it is awake
	slept  time.Duration // before that
}

func (s *sleeper) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asleep.IsZero() {
		return s.asleep.Add(-s.slept)
	}
	return time.Now().Add(-s.slept)
}

func (s *sleeper) suspend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asleep = time.Now()
}

func (s *sleeper) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slept, s.asleep = s.slept+time.Since(s.asleep), time.Time{}
}

// withSleepers plays a test with three nodes, each with a clock of its own.
func withSleepers(t *testing.T, play func(cluster *cluster, clocks map[string]*sleeper)) {
	t.Helper()
	withNewCluster(t, 3, func(c *config) { c.Leases = true }, func(cluster *cluster) {
		clocks := map[string]*sleeper{}
		for _, id := range cluster.ids {
			clocks[id] = new(sleeper)
			cluster.clock = clocks[id].now
			cluster.start(id)
		}
		play(cluster, clocks)
	})
}

// The documentation of Lease says so: the term protects, and the lease does not.
func TestALeaderThatWasSuspendedBelievesInItsLeaseForARest(t *testing.T) {
	withSleepers(t, func(cluster *cluster, clocks map[string]*sleeper) {
		first := cluster.awaitLeader()
		before := first.el.Status()
		cluster.cut(first.id)
		clocks[first.id].suspend()
		cluster.pass(10 * time.Second)
		clocks[first.id].resume()
		second := cluster.others(first)[0]
		if second.el.Status().Role != memberstate.Leader {
			second = cluster.others(first)[1]
		}
		assert.Equal(t, memberstate.Leader, second.el.Status().Role)
		assert.Equal(t, before, first.el.Status())
		assert.True(t, holdsLease(first.el), "ten seconds have passed, and not by its clock")
		assert.True(t, holdsLease(second.el), "two leases at a time")
		assert.Greater(t, second.el.Status().Term, before.Term)
		cluster.pass(elector.DefaultTiming().Detection()) // still cut off
		assert.False(t, holdsLease(first.el))
		assert.NotEqual(t, memberstate.Leader, first.el.Status().Role)
		cluster.reconnect(first.id)
		cluster.pass(time.Second)
		assert.Equal(t, second.id, first.el.Status().Leader, "it follows the new leader")
		assert.Equal(t, second.el.Status().Term, first.el.Status().Term)
	})
}

// A follower takes its leader for alive as long as it would have without the sleep, and its promise lasts longer, which harms nobody.
func TestAFollowerThatWasSuspendedEndsNoTerm(t *testing.T) {
	withSleepers(t, func(cluster *cluster, clocks map[string]*sleeper) {
		leader := cluster.awaitLeader()
		before, sleeps := leader.el.Status(), cluster.others(leader)[0]
		cluster.cut(sleeps.id)
		clocks[sleeps.id].suspend()
		cluster.pass(10 * time.Second)
		assert.Equal(t, leader.id, sleeps.el.Status().Leader)
		clocks[sleeps.id].resume()
		cluster.reconnect(sleeps.id)
		cluster.pass(time.Minute)
		assert.Equal(t, before, leader.el.Status())
		assert.Equal(t, leader.id, sleeps.el.Status().Leader)
	})
}
