// Leases: each is shorter than the time for which the others wait, by the drift margin.

package elector_test

import (
	"context"
	"fmt"
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

func TestALeaseLeavesRoomForClocksThatDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timing, c := elector.DefaultTiming(), singleConfig()
		c.Leases = true
		el := startElector(t, c)
		defer func() { assert.NoError(t, el.Stop(context.Background())) }()
		longest, held := time.Duration(0), false
		for range timing.Detection() / time.Millisecond {
			<-time.After(time.Millisecond)
			if _, until, ok := el.Lease(); ok {
				longest, held = max(longest, time.Until(until)), true
			}
		}
		assert.True(t, held)
		assert.LessOrEqual(t, longest, timing.Detection()-timing.DriftMargin)
	})
}

// A leader that is cut off goes on sending heartbeats for Leak intervals. Its lease must still be
// counted from the last beat that was answered, however many beats follow that one, and so run
// out before the others may elect.
func TestFault07ALeaderThatIsCutOffHoldsNoLeaseBesideTheNextOne(t *testing.T) {
	for leak := 3; leak <= 12; leak++ {
		t.Run(fmt.Sprintf("leak %d", leak), func(t *testing.T) {
			withNewCluster(t, 3, func(c *config) { c.Leases, c.Timing.Leak, c.Lead = true, leak, nil }, func(cluster *cluster) {
				cluster.network.SetAll(rpc.Link{})
				cluster.startAll()
				old := cluster.awaitLease(nil)
				cluster.cut(old.id)
				next := cluster.awaitLease(old)
				assert.NotEqual(t, old, next)
			})
		})
	}
}

// awaitLease waits until a node other than this one holds a lease. It checks every millisecond that
// no two nodes hold one.
func (cluster *cluster) awaitLease(except *node) *node {
	cluster.t.Helper()
	for range 100 * time.Second / time.Millisecond {
		cluster.pass(time.Millisecond)
		var holders []*node
		for _, n := range cluster.nodes {
			if holdsLease(n.el) {
				holders = append(holders, n)
			}
		}
		require.LessOrEqual(cluster.t, len(holders), 1, "leases that are held at the same time")
		if len(holders) == 1 && holders[0] != except {
			return holders[0]
		}
	}
	cluster.t.Fatal("no node holds a lease")
	return nil
}

// An upgrade turns leases off by restarting one member after the other, the leader last. At every
// step there is a leader that serves, with a lease if it still has leases.
func TestLeasesAreTurnedOffMemberByMember(t *testing.T) {
	without := map[string]bool{}
	change := func(c *config) { c.Leases = !without[c.Self] }
	withCluster(t, 3, change, func(cluster *cluster) {
		serves := func() string {
			cluster.pass(10 * time.Second)
			leader := cluster.agreedLeader()
			require.NotNil(t, leader)
			assert.Equal(t, !without[leader.id], holdsLease(leader.el), "%s holds a lease", leader.id)
			assert.True(t, cluster.serves(leader), "%s leads and does not serve", leader.id)
			return leader.id
		}
		first := serves()
		for _, n := range append(cluster.others(cluster.nodes[first]), cluster.nodes[first]) {
			require.NoError(t, cluster.stop(n))
			without[n.id] = true
			cluster.start(n.id)
			serves()
		}
	})
}

// If round trips are longer than a lease, each lease has run out when it is confirmed.
func TestLeadIsNotCalledIfRoundTripsAreLongerThanLeases(t *testing.T) {
	for name, is := range map[string]struct {
		leak          int
		margin, delay time.Duration
	}{
		"a little longer": {3, 15 * time.Millisecond, 145 * time.Millisecond},
		"much longer":     {4, 200 * time.Millisecond, 190 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			var called, leading atomic.Int32
			withNewCluster(t, 3, func(c *config) {
				c.Leases, c.Timing.Leak, c.Timing.DriftMargin = true, is.leak, is.margin
				c.Lead = func(ctx context.Context, term memberstate.Term) error {
					called.Add(1)
					return untilEnd(ctx, term)
				}
				c.Metrics = &elector.Metrics{Changed: func(s elector.Status) {
					if s.Role == memberstate.Leader {
						leading.Add(1)
					}
				}}
			}, func(cluster *cluster) {
				cluster.network.SetAll(rpc.Link{Delay: is.delay})
				cluster.startAll()
				cluster.pass(time.Minute)
			})
			assert.Zero(t, called.Load())
			assert.Greater(t, leading.Load(), int32(10), "a leader without a lease must step down")
		})
	}
}
