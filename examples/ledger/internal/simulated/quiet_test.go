// Worlds in which nothing goes wrong but what a test brings about.

package simulated

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/examples/ledger/client"
	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// quiet is such a world, of three nodes with one shard.
type quiet struct {
	*testing.T
	*World
	client *client.Client
}

// inQuiet plays a test in a world, which is set first.
func inQuiet(t *testing.T, set func(*World), play func(*quiet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := New(0)
		w.members, w.nodes, w.shards, w.leases, w.keep, w.sessions = memberstate.Voters("n0", "n1", "n2"), w.nodes[:3], 1, false, 100, 1<<20
		set(w)
		q := &quiet{t, w, client.New(w, w, 1, 300*time.Millisecond)}
		for _, n := range w.nodes {
			for _, m := range w.nodes {
				w.link(n.id, m.id, rpc.Link{Delay: 500 * time.Microsecond})
			}
		}
		for _, n := range w.nodes {
			n.lasts.Store(int64(time.Millisecond))
			n.start()
		}
		q.put(1)
		play(q)
		for _, n := range w.nodes {
			w.end(n)
		}
		w.work.Wait()
		w.network.flying.Wait()
		assert.Empty(t, w.failed)
	})
}

// put writes so many values.
func (q *quiet) put(n int) {
	q.Helper()
	wait, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for i := range n {
		require.NoError(q, q.client.Put(wait, fmt.Appendf(nil, "k%d", i), []byte("v")))
	}
}

// write has three clients write until the returned function is called.
func (q *quiet) write() (done func()) {
	over, done := context.WithCancel(q.Context())
	for range 3 {
		q.work.Go(func() {
			for c := client.New(q, q, 1, 300*time.Millisecond); over.Err() == nil; {
				_ = c.Put(over, []byte("k"), []byte("v")) // it is interrupted in the end
			}
		})
	}
	return done
}

// follows is a node that does not lead.
func (q *quiet) follows() *node {
	for _, n := range q.nodes {
		if n != q.anyLeader() {
			return n
		}
	}
	return nil
}

// serves says whether a node has had all that its leader had within some time.
func (q *quiet) serves(n *node, within time.Duration) bool {
	for began := time.Now(); time.Since(began) < within; <-time.After(q.timing.Heartbeat) { // virtual time
		if n.running().engine.Host().Progress().Standing.State == rpc.Serving {
			return true
		}
	}
	return false
}

// The new leader does not know yet where the others are when it finds one away. It has the entries that this one lacks, so it need not send all keys.
func TestANodeThatWasAwayForAMomentIsSentNoState(t *testing.T) {
	inQuiet(t, func(*World) {}, func(q *quiet) {
		q.put(400)
		away := q.follows()
		q.end(away)
		q.put(10)
		q.resign(nil)
		q.put(10)
		sent := q.network.parts.Load()
		away.start()
		assert.True(q, q.serves(away, 30*time.Second))
		q.compare()
		assert.Equal(q, sent, q.network.parts.Load(), "parts of the state")
	})
}

// While a follower is sent the state, much is written. What it lacks afterwards must still be there, or it is sent the state again and again.
func TestAFollowerCatchesUpWhileOthersWrite(t *testing.T) {
	inQuiet(t, func(w *World) { w.keep, w.part = 10, 1 }, func(q *quiet) {
		q.put(60)
		away := q.follows()
		q.end(away)
		q.put(60)
		done := q.write()
		away.start()
		assert.True(q, q.serves(away, time.Second))
		done()
		assert.Positive(q, q.network.parts.Load(), "it was sent the state")
	})
}

// Who is away for long is not waited for, whether it has been sent a part of the state or all of it: the parts end, and entries that only it needs
// are forgotten.
func TestAFollowerThatGoesAwayAgainIsGivenUp(t *testing.T) {
	for name, pauses := range map[string]time.Duration{"after a part": 0, "after the last part": 4 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			inQuiet(t, func(w *World) { w.keep, w.part = 10, 1 }, func(q *quiet) {
				q.put(60)
				away := q.follows()
				q.end(away)
				q.put(60)
				done, sent := q.write(), q.network.parts.Load()
				away.start()
				for before := sent; sent == before || sent < q.network.parts.Load(); <-time.After(pauses) { // until no part was sent for so long
					sent = q.network.parts.Load()
					<-time.After(10 * time.Microsecond)
				}
				for _, n := range q.nodes {
					q.network.set(n.id, away.id, rpc.Link{Cut: true})
					q.network.set(away.id, n.id, rpc.Link{Cut: true})
				}
				done()
				<-time.After((patience + 10) * q.timing.Heartbeat)
				q.put(60)
				sent = q.network.parts.Load()
				<-time.After(200 * q.timing.Heartbeat)
				assert.Equal(q, sent, q.network.parts.Load())
				q.weather(false)
				assert.True(q, q.serves(away, 30*time.Second))
				assert.Greater(q, q.network.parts.Load(), sent, "it was sent the state again")
			})
		})
	}
}

// patience is the engine's, in heartbeats.
const patience = 100

// A part that takes longer to arrive than a leader waits for an answer is sent ever more rarely, and the state gets there.
func TestAStateGetsThroughASlowLink(t *testing.T) {
	inQuiet(t, func(w *World) { w.keep, w.part = 10, 1000 }, func(q *quiet) {
		q.put(300)
		away := q.follows()
		q.end(away)
		q.put(300)
		for _, n := range q.nodes {
			q.network.set(n.id, away.id, rpc.Link{Delay: 40 * q.timing.Heartbeat})
		}
		sent := q.network.parts.Load()
		away.start()
		assert.True(q, q.serves(away, 30*time.Second))
		assert.Less(q, q.network.parts.Load()-sent, int64(20))
	})
}

// A message that overtakes another one is refused. If each of these had what follows sent again, and these messages were refused, too, then
// there would be more of them with each round trip.
func TestMessagesDoNotMultiplyWhereSomeAreOvertaken(t *testing.T) {
	inQuiet(t, func(w *World) { w.keep, w.part = 1000, 1 }, func(q *quiet) {
		away := q.follows()
		q.end(away)
		q.put(300)
		for _, n := range q.nodes {
			q.network.set(n.id, away.id, rpc.Link{Delay: 500 * time.Microsecond, Jitter: time.Millisecond})
			q.network.set(away.id, n.id, rpc.Link{Delay: 500 * time.Microsecond, Jitter: time.Millisecond})
		}
		sent := q.network.sent.Load()
		away.start()
		assert.True(q, q.serves(away, 30*time.Second))
		assert.Less(q, q.network.sent.Load()-sent, int64(30*300))
	})
}

// An answer that takes several beats must not be thrown away because the leader has asked again meanwhile.
func TestAFollowerCatchesUpOverALongWay(t *testing.T) {
	inQuiet(t, func(*World) {}, func(q *quiet) {
		far := q.follows()
		links := func(l rpc.Link) {
			for _, n := range q.nodes {
				q.network.set(n.id, far.id, l)
				q.network.set(far.id, n.id, l)
			}
		}
		links(rpc.Link{Cut: true})
		q.put(10)
		q.resign(nil)
		q.put(10)
		links(rpc.Link{Delay: q.timing.Heartbeat * 13 / 10})
		q.compare()
	})
}

// The electors of a leader hear each other, and its engine hears nobody: it would lead for ever, and write nothing.
func TestALeaderWhoseEngineIsCutOffHandsOver(t *testing.T) {
	inQuiet(t, func(*World) {}, func(q *quiet) {
		was := q.anyLeader()
		for _, n := range q.nodes {
			q.network.set(was.id, n.id, rpc.Link{Cut: true})
			q.network.set(n.id, was.id, rpc.Link{Cut: true})
		}
		q.put(3)
		assert.NotEqual(q, was.id, q.anyLeader().id)
		q.heal()
	})
}

// elected waits for the next leader, which may not have begun to lead.
func (q *quiet) elected(after memberstate.Term) *node {
	for ; ; <-time.After(10 * time.Microsecond) { // virtual time
		for _, n := range q.nodes {
			if el := n.leads(0); el != nil && el.Status().Term > after {
				return n
			}
		}
	}
}

// With leases an engine begins to lead when it has the lease, a round trip after all know that its node was elected. Whoever asks in
// between is not sent away.
func TestWhoAsksAnElectedNodeTooEarlyWaits(t *testing.T) {
	for _, r := range []*ledgerpb.Request{
		{Shards: 1, Asks: &ledgerpb.Request_Read{Read: &ledgerpb.Read{Key: []byte("k0")}}},
		{Shards: 1, Asks: &ledgerpb.Request_Command{Command: &ledgerpb.Command{Does: &ledgerpb.Command_Open{Open: &ledgerpb.Open{}}}}},
	} {
		inQuiet(t, func(w *World) { w.leases = true }, func(q *quiet) {
			old := q.anyLeader().leads(0)
			q.work.Go(func() { _ = old.Resign(q.Context()) })
			assert.NotNil(q, q.elected(old.Status().Term).running().engine.Do(q.Context(), r).GetResult())
		})
	}
}

// A session is remembered for a number of entries after it was opened, and no longer, or the state would grow with each client.
func TestASessionEndsAfterManyEntries(t *testing.T) {
	inQuiet(t, func(w *World) { w.sessions = 20 }, func(q *quiet) {
		do := func(c *ledgerpb.Command) *ledgerpb.Reply {
			r := &ledgerpb.Request{Shards: 1, Asks: &ledgerpb.Request_Command{Command: c}}
			return q.anyLeader().running().engine.Do(q.Context(), r)
		}
		open := &ledgerpb.Command{Does: &ledgerpb.Command_Open{Open: &ledgerpb.Open{}}}
		q.put(30)
		session := do(open).GetResult().GetSession()
		q.put(5)
		do(open)
		assert.NotNil(q, do(&ledgerpb.Command{Session: session, Number: 1}).GetResult())
		q.put(30)
		do(open)
		assert.Contains(q, do(&ledgerpb.Command{Session: session, Number: 2}).GetRefused(), "is not open, or not any more")
	})
}

// Writes are paused before another node leads, so that the old leader knows of nearly every command whether it was carried out. Three clients
// write all the time, and there are nearly thirty handovers.
func TestAHandoverLeavesHardlyACommandUnknown(t *testing.T) {
	inQuiet(t, func(*World) {}, func(q *quiet) {
		done := q.write()
		for range 10 {
			<-time.After(20 * time.Millisecond) // virtual time
			q.transfer(nil)
		}
		assert.Less(q, q.unknown.Load(), int64(10))
		done()
	})
}

// Nobody may begin anew on the data of a node, or give them another number of shards.
func TestDataOnWhichANodeHasRunAreLeftAlone(t *testing.T) {
	inQuiet(t, func(*World) {}, func(q *quiet) {
		n := q.follows()
		q.end(n)
		require.ErrorIs(q, engine.Create("data", n.disk, 2), engine.ErrHasRun)
		n.start()
		assert.True(q, q.serves(n, 30*time.Second))
	})
}

// Where a key is depends on the number of shards, so a client that takes another one would look in the wrong place.
func TestAClientWithAnotherNumberOfShardsIsRefused(t *testing.T) {
	inQuiet(t, func(*World) {}, func(q *quiet) {
		err := client.New(q, q, 2, time.Second).Put(q.Context(), []byte("k"), nil)
		require.ErrorIs(q, err, client.ErrNothing)
		assert.ErrorContains(q, err, "the keys are in 1 shards")
	})
}
