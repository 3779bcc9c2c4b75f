// Elections, leases and callbacks on hosts with real goroutines, in virtual time.

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

func TestGroupsOfEverySizeElectAndSurviveTheirLeader(t *testing.T) {
	for _, size := range []int{1, 3, 5, 7, 9} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			withCluster(t, size, nil, func(cluster *cluster) {
				first := cluster.awaitLeader()
				if size == 1 {
					return
				}
				cluster.cut(first.id)
				cluster.pass(time.Second)
				cluster.reconnect(first.id)
				second := cluster.awaitLeader()
				assert.NotEqual(t, first.id, second.id)
			})
		})
	}
}

func TestLeadNeverRunsTwiceAtOnce(t *testing.T) {
	const changes = 1000
	withCluster(t, 3, nil, func(cluster *cluster) {
		ctx := context.Background()
		for range changes {
			leader := cluster.awaitLeader()
			require.NoError(t, leader.el.TransferLeadership(ctx, ""))
		}
		cluster.awaitLeader()
		cluster.pass(time.Millisecond)
		assert.GreaterOrEqual(t, cluster.offices.opened, changes)
	})
}

func TestALostProcessIsReplacedWithoutWaitingForItsSilence(t *testing.T) {
	withCluster(t, 3, nil, func(cluster *cluster) {
		first := cluster.awaitLeader()
		cluster.pass(time.Second)
		cluster.cut(first.id)
		before := time.Now()
		cluster.network.ReportLost(first.id)
		for other := cluster.others(first)[0]; other.el.Status().Leader == first.id || other.el.Status().Leader == ""; {
			cluster.pass(time.Millisecond)
		}
		assert.Less(t, time.Since(before), elector.DefaultTiming().Detection()/3, "in virtual time")
		cluster.reconnect(first.id)
		cluster.awaitLeader()
	})
}

func TestATransferThatIsImpossibleIsRefused(t *testing.T) {
	withCluster(t, 3, nil, func(cluster *cluster) {
		ctx := context.Background()
		leader := cluster.awaitLeader()
		follower := cluster.others(leader)[0]
		require.ErrorIs(t, follower.el.TransferLeadership(ctx, leader.id), elector.ErrNotLeader)
		require.ErrorIs(t, follower.el.TransferLeadership(ctx, ""), elector.ErrNotLeader)
		require.ErrorIs(t, follower.el.Resign(ctx), elector.ErrNotLeader)
		require.ErrorIs(t, leader.el.TransferLeadership(ctx, "nobody"), elector.ErrTransferFailed)
		require.NoError(t, leader.el.TransferLeadership(ctx, leader.id), "it leads already")
		cluster.deafen(leader) // it hears no answers
		short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, leader.el.TransferLeadership(short, follower.id), context.DeadlineExceeded)
		assert.Equal(t, memberstate.Leader, leader.el.Status().Role)
		require.NoError(t, leader.el.Resign(ctx), "it steps down although no member takes over")
		assert.NotEqual(t, memberstate.Leader, leader.el.Status().Role)
		require.NoError(t, cluster.stop(follower))
		require.ErrorIs(t, follower.el.TransferLeadership(ctx, ""), elector.ErrStopped)
		require.ErrorIs(t, follower.el.Heard(1, leader.id), elector.ErrStopped)
	})
}

// Members are killed, cut off, paused and restarted at random. In the end one leads again.
func TestAGroupSurvivesCrashesPausesAndRestarts(t *testing.T) {
	for _, size := range []int{3, 5} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			withCluster(t, size, nil, func(cluster *cluster) {
				random := rand.New(rand.NewPCG(uint64(size), 0))
				for range 100 {
					n := cluster.nodes[cluster.ids[random.IntN(size)]]
					switch random.IntN(4) {
					case 0: // killed: the others do not hear that it leaves
						cluster.cut(n.id)
						require.NoError(t, cluster.stop(n))
						cluster.reconnect(n.id)
						cluster.start(n.id)
					case 1: // paused
						cluster.cut(n.id)
						cluster.pass(time.Duration(random.IntN(1000)) * time.Millisecond)
						cluster.reconnect(n.id)
					case 2: // stopped
						require.NoError(t, cluster.stop(n))
						cluster.pass(time.Duration(random.IntN(1000)) * time.Millisecond)
						cluster.start(n.id)
					case 3:
						cluster.pass(time.Duration(random.IntN(1000)) * time.Millisecond)
					}
				}
				cluster.awaitLeader()
			})
		})
	}
}

func TestFailedSaveStopsTheMember(t *testing.T) {
	broken := errors.New("disk on fire")
	withCluster(t, 3, nil, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		others := cluster.others(leader)
		victim, heir := others[0], others[1]
		victim.store.Break(broken)
		require.NoError(t, leader.el.TransferLeadership(context.Background(), heir.id))
		require.ErrorIs(t, <-victim.err, broken)
		victim.end = nil
		assert.True(t, victim.el.Status().Stopped)
		assert.NotEqual(t, memberstate.Leader, victim.el.Status().Role)
		assert.Equal(t, heir, cluster.awaitLeader(), "the others go on")
	})
}

func TestSlowCallbacksDelayNoElection(t *testing.T) {
	channel := sync.OnceValue(func() chan struct{} { return make(chan struct{}) })
	withCluster(t, 3, func(c *config) {
		release := channel() // made in the bubble
		c.Handlers = []elector.RoleHandler{stuckHandler{release}}
		lead := c.Lead
		c.Lead = func(ctx context.Context, term memberstate.Term) error {
			err := lead(ctx, term)
			<-release // long after ctx has ended
			return err
		}
	}, func(cluster *cluster) {
		first := cluster.awaitLeader()
		cluster.cut(first.id)
		cluster.pass(time.Second)
		cluster.reconnect(first.id)
		second := cluster.awaitLeader()
		assert.NotEqual(t, first.id, second.id)
		cluster.pass(10 * time.Second)
		assert.Equal(t, second, cluster.agreedLeader())
		close(channel())
	})
}

// stuckHandler's Handle returns once it is released.
type stuckHandler struct{ release chan struct{} }

func (h stuckHandler) Startup()              {}
func (h stuckHandler) Handle(elector.Status) { <-h.release }
func (h stuckHandler) Shutdown()             {}

func TestWatchSkipsButNeverMissesTheLatest(t *testing.T) {
	withCluster(t, 3, nil, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var revision uint64
		changes := 0
		for s := range leader.el.Watch(ctx) {
			require.Greater(t, s.Revision, revision)
			revision = s.Revision
			if changes++; changes == 1 {
				// While this watcher is busy, the member changes several times.
				require.NoError(t, leader.el.TransferLeadership(ctx, ""))
				cluster.awaitLeader()
				continue
			}
			assert.Equal(t, leader.el.Status(), s)
			break
		}
	})
}

func TestALoneVoterHoldsALease(t *testing.T) {
	withCluster(t, 1, func(c *config) { c.Leases = true }, func(cluster *cluster) {
		only := cluster.awaitLeader()
		for range 100 {
			cluster.pass(50 * time.Millisecond)
			require.True(t, holdsLease(only.el))
		}
		assert.EqualValues(t, 1, only.el.Status().Term)
	})
}

func TestLeaseEndsBeforeAnotherLeads(t *testing.T) {
	withCluster(t, 3, func(c *config) { c.Leases = true }, func(cluster *cluster) {
		first := cluster.awaitLeader()
		cluster.pass(100 * time.Millisecond)
		term, until, ok := first.el.Lease()
		require.True(t, ok)
		assert.Equal(t, first.el.Status().Term, term)
		assert.Positive(t, time.Until(until))
		cluster.cut(first.id)
		for holdsLease(first.el) {
			for _, n := range cluster.nodes {
				assert.False(t, n != first && n.el.Status().Role == memberstate.Leader, "two leaders under one lease")
			}
			cluster.pass(time.Millisecond)
		}
		assert.False(t, cluster.serves(first), "its Lead outlives its lease")
		cluster.pass(time.Second)
		cluster.reconnect(first.id)
		cluster.awaitLeader()
	})
}

func TestAThousandGroupsOnThreeHostsElect(t *testing.T) {
	const groups = 1000
	synctest.Test(t, func(t *testing.T) {
		network := rpc.NewNetwork(1)
		network.SetAll(rpc.Link{Delay: time.Millisecond})
		ids := []string{"n0", "n1", "n2"}
		var hosts []*elector.Host
		var electors []*elector.Elector
		var leading atomic.Int64
		for _, id := range ids {
			host := elector.MustHost(t, elector.HostConfig{Self: id, Store: new(memberstate.MemStore), Transport: network.Join(id)})
			hosts = append(hosts, host)
			for i := range groups {
				group := elector.GroupOf(fmt.Sprintf("g%d", i), ids...)
				group.Lead = func(ctx context.Context, term memberstate.Term) error {
					leading.Add(1)
					defer leading.Add(-1)
					return untilEnd(ctx, term)
				}
				el := elector.MustJoin(t, host, group)
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

func TestElectorsAreSortedByTheirGroups(t *testing.T) {
	host := elector.IsolatedHost(t, new(memberstate.MemStore))
	for _, group := range []string{"c", "a", "d", "b"} {
		join(t, host, group, "n0")
	}
	var groups []string
	for _, el := range host.Electors() {
		groups = append(groups, el.Status().Group)
	}
	assert.Equal(t, []string{"a", "b", "c", "d"}, groups)
}
