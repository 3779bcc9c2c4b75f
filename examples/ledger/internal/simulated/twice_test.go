// Trouble twice within one operation, and how late what follows is. In the end nothing is left of it.

package simulated

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/rpc"
)

// isLinked cuts a node off from all others, or ends that.
func (q *quiet) isLinked(n *node, linked bool) {
	for _, m := range q.nodes {
		l := rpc.Link{Delay: 500 * time.Microsecond, Cut: !linked}
		q.network.set(n.id, m.id, l)
		q.network.set(m.id, n.id, l)
	}
}

// sendsParts waits until so many more parts of a state were sent.
func (q *quiet) sendsParts(more int64) {
	for sent := q.network.parts.Load(); q.network.parts.Load() < sent+more; {
		<-time.After(10 * time.Microsecond) // virtual time
	}
}

// The way of a state may break twice: its follower is cut off, or is restarted, or loses its power. It gets there
// all the same, and neither side keeps anything of the attempts.
func TestAStateWhoseWayBreaksTwiceGetsThere(t *testing.T) {
	for name, breaks := range map[string]func(*quiet, *node){
		"cut off": func(q *quiet, n *node) {
			q.isLinked(n, false)
			<-time.After(3 * q.timing.Heartbeat)
			q.isLinked(n, true)
		},
		"restarted": func(_ *quiet, n *node) {
			now, cancel := context.WithCancel(context.Background())
			cancel()
			n.stop(now)
			n.start()
		},
		"without power": func(q *quiet, n *node) {
			n.die(q.random)
			n.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inQuiet(t, func(w *World) { w.keep, w.part = 10, 1 }, func(q *quiet) {
				q.put(60)
				away := q.follows()
				q.end(away)
				q.put(60)
				away.start()
				for _, key := range []string{"k0", "k1"} {
					q.sendsParts(5)
					require.NoError(q, q.client.Delete(q.Context(), []byte(key))) // it has been sent, and must not stay
					breaks(q, away)
				}
				assert.True(q, q.serves(away, 30*time.Second))
				q.compare()
				q.givesBack()
			})
		})
	}
}

// Clients may give up while writes are paused for a handover that takes long, again and again. The room of their
// commands is given back.
func TestClientsThatGiveUpDuringTwoPausesLeaveNothing(t *testing.T) {
	inQuiet(t, func(*World) {}, func(q *quiet) {
		for range 2 {
			for _, from := range q.nodes {
				for _, to := range q.nodes {
					q.elections.SetLink(from.id, to.id, rpc.Link{Delay: 40 * time.Millisecond})
				}
			}
			q.work.Go(func() { q.transfer(nil) })
			for range 50 {
				<-time.After(3 * time.Millisecond)
				if leader := q.anyLeader(); leader != nil {
					q.work.Go(func() {
						wait, cancel := context.WithTimeout(q.Context(), 5*time.Millisecond)
						defer cancel()
						leader.running().engine.Do(wait, &ledgerpb.Request{Shards: 1, Asks: &ledgerpb.Request_Command{Command: &ledgerpb.Command{
							Does: &ledgerpb.Command_Put{Put: &ledgerpb.Put{Key: []byte("k")}},
						}}})
					})
				}
			}
			q.weather(false)
			q.put(3)
		}
		q.work.Wait()
		q.compare()
		q.givesBack()
	})
}

// A new leader serves after it has written one entry and its client's command: two syncs and two round trips.
func TestANewLeaderServesAtOnce(t *testing.T) {
	inQuiet(t, func(*World) {}, func(q *quiet) {
		q.put(50)
		for range 5 {
			old := q.anyLeader().leads(0)
			q.work.Go(func() { _ = old.Resign(q.Context()) })
			leader := q.elected(old.Status().Term)
			began := time.Now()
			reply := leader.running().engine.Do(q.Context(), &ledgerpb.Request{Shards: 1, Asks: &ledgerpb.Request_Command{Command: &ledgerpb.Command{
				Does: &ledgerpb.Command_Put{Put: &ledgerpb.Put{Key: []byte("k")}},
			}}})
			require.NotNil(q, reply.GetResult(), "%v", reply)
			assert.LessOrEqual(q, time.Since(began), 5*time.Millisecond)
			<-time.After(5 * q.timing.Heartbeat)
		}
	})
}

// A follower that was cut off is sent what it lacks within as many beats as a leader at most waits for an answer,
// after the link is there again.
func TestAFollowerThatIsBackIsSentWhatItLacksInTime(t *testing.T) {
	inQuiet(t, func(*World) {}, func(q *quiet) {
		away := q.follows()
		for _, beats := range []int{1, 4, 40} {
			q.isLinked(away, false)
			q.put(10)
			<-time.After(time.Duration(beats) * q.timing.Heartbeat)
			q.isLinked(away, true)
			began := time.Now()
			q.compare()
			assert.LessOrEqual(q, time.Since(began), time.Duration(q.timing.Leak+1)*q.timing.Heartbeat, "after %d beats", beats)
		}
	})
}
