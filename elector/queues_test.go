// The queues of a host, of input for the loop and of input for a step under way, are bounded.

package elector_test

import (
	"context"
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

// withSlowDisk plays a test with n0, which follows n1 in term 1. Its saves wait for the store's
// gate. n1 is a heartbeat of n1 in term 2.
func withSlowDisk(t *testing.T, play func(el *elector.Elector, store *gatedStore, n1 rpc.Message)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, store := goodConfig(), new(gatedStore)
		c.Store = store
		c.Lead = func(context.Context, memberstate.Term) error { return nil } // never called
		el := startElector(t, c)
		require.NoError(t, el.Heard(1, "n1"))
		store.gate = make(chan error)
		play(el, store, heartbeat(t, "n1", "n0", 2))
	})
}

func TestInputOfAHostWithoutGroupsIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		el := join(t, host, "g", "n0")
		for range 1000 {
			el.Campaign() // it has not begun
		}
		require.NoError(t, el.Start())
		require.NoError(t, host.Close(context.Background()))
		for range 1000 {
			el.Campaign()
			host.PeerLost("n1")
			host.Receive(make([]rpc.Message, 10))
		}
		requests, _ := elector.Waiting(el)
		assert.Zero(t, requests)
		assert.EqualValues(t, 10_000, host.Dropped(protocol.DropQueueFull))
		again := join(t, host, "g", "n0")
		require.NoError(t, again.Start())
		<-time.After(time.Second)
		assert.Equal(t, memberstate.Leader, again.Status().Role, "the host goes on")
		require.NoError(t, host.Close(context.Background()))
	})
}

// Here a function of Metrics blocks the loop, which it should not do.
func TestARequestThatIsRepeatedWhileTheLoopIsBlockedIsKeptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, entered := make(chan struct{}), make(chan struct{}, 1)
		c := goodConfig()
		c.Metrics = &elector.Metrics{Dropped: func(elector.Drop, int) {
			entered <- struct{}{}
			<-held
		}}
		el := startElector(t, c)
		require.NoError(t, el.Heard(1, "n1"))
		el.Host().Receive(make([]rpc.Message, 1)) // of no group
		<-entered
		for range 1000 {
			el.Campaign()
			el.Host().PeerLost("n1")
			el.Host().PeerLost("n2")
			<-time.After(elector.DefaultTiming().Heartbeat)
			require.NoError(t, el.Heard(1, "n1"))
			r, err := el.Report(endedContext())
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, elector.Report{Status: el.Status()}, r, "the status is known without the loop")
		}
		requests, _ := elector.Waiting(el)
		assert.Equal(t, 5, requests, "a campaign, two losses, an append, a report")
		patient := order(func(ctx context.Context) error {
			_, err := el.Report(ctx)
			return err
		})
		close(held)
		require.NoError(t, patient.answered(t))
		_, err := el.Report(t.Context())
		require.NoError(t, err, "the next report is measured anew")
		requests, _ = elector.Waiting(el)
		assert.Zero(t, requests)
		require.NoError(t, el.Stop(context.Background()))
	})
}

// They are reported to the loop now and then only, but not too rarely for that.
func TestAFollowerThatHearsVeryManyAppendsKeepsItsLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		el := startElector(t, goodConfig())
		for range 200 {
			require.NoError(t, el.Heard(1, "n1"))
			<-time.After(elector.DefaultTiming().Heartbeat / 16)
			synctest.Wait()
			require.Equal(t, "n1", el.Status().Leader)
		}
		require.NoError(t, el.Stop(context.Background()))
	})
}

// For five minutes the disk is stuck, while the engine hears appends, operators give orders, and
// connections break. The queue stays small, and keeps the messages of peers.
func TestTheQueueStaysSmallWhileTheDiskIsStuck(t *testing.T) {
	withSlowDisk(t, func(el *elector.Elector, store *gatedStore, n1 rpc.Message) {
		host := el.Host()
		host.Receive([]rpc.Message{n1}) // a new term, to be saved
		var late []*call
		for i := range 12_000 {
			<-time.After(25 * time.Millisecond)
			require.NoError(t, el.Heard(1, "n1"))
			el.Campaign()
			host.PeerLost("n1")
			if i%1000 == 0 {
				late = append(late, order(func(context.Context) error { return el.Heard(2, "n1") }))
			}
		}
		n1.Round++
		host.Receive([]rpc.Message{n1})
		synctest.Wait()
		_, queued := elector.Waiting(el)
		assert.Equal(t, 5, queued, "appends of two terms, a campaign, a loss, a heartbeat")
		assert.Zero(t, host.Dropped(protocol.DropQueueFull))
		close(store.gate)
		for _, c := range late {
			require.NoError(t, c.answered(t))
		}
		assert.Equal(t, "n1", el.Status().Leader)
		assert.EqualValues(t, 2, el.Status().Term)
		require.NoError(t, el.Stop(context.Background()))
	})
}

func TestMessagesThatWaitForTheDiskAreBounded(t *testing.T) {
	withSlowDisk(t, func(el *elector.Elector, store *gatedStore, n1 rpc.Message) {
		const flood, most = 1000, 256
		for range 1 + flood {
			el.Host().Receive([]rpc.Message{n1})
			n1.Round++
		}
		synctest.Wait()
		_, queued := elector.Waiting(el)
		assert.Equal(t, most, queued)
		assert.EqualValues(t, flood-most, el.Host().Dropped(protocol.DropQueueFull))
		close(store.gate)
		synctest.Wait()
		_, queued = elector.Waiting(el)
		assert.Zero(t, queued)
		for range most { // there is room again
			el.Host().Receive([]rpc.Message{n1})
		}
		synctest.Wait()
		assert.EqualValues(t, flood-most, el.Host().Dropped(protocol.DropQueueFull))
		require.NoError(t, el.Stop(context.Background()))
	})
}

func TestAnOrderThatIsWithdrawnLeavesTheQueue(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		release := engines.holdLedgers()
		first := order(leader.el.Resign)
		for range 1000 {
			order(leader.el.Resign).withdraw(t)
		}
		_, queued := elector.Waiting(leader.el)
		assert.Less(t, queued, 10)
		close(release)
		cluster.pass(time.Second)
		require.NoError(t, first.answered(t))
	})
}
