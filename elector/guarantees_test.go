// Guarantees to operators and engines, one test each: resigning, transferring and stopping, the
// lease that Lease returns, and the callbacks.

package elector_test

import (
	"context"
	"maps"
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

// sentLog counts messages that the members of a cluster have sent.
type sentLog struct {
	mu           sync.Mutex
	voteRequests map[string]int // by sender
	offers       map[string]int // messages about a handover, by heir
	onTakeover   func()         // called when an heir asks for votes
}

func observe(c *config, o *sentLog) {
	c.Metrics = &elector.Metrics{Sent: func(_ string, batch []rpc.Message) {
		o.mu.Lock()
		defer o.mu.Unlock()
		for i := range batch {
			switch batch[i].Kind {
			case rpc.VoteRequest:
				o.voteRequests[c.Self]++
				if o.onTakeover != nil && batch[i].Mark == rpc.Handed {
					o.onTakeover()
				}
			case rpc.TakeLeadership:
				o.offers[batch[i].Leader]++
			default: // not counted
			}
		}
	}}
}

// reset sets all counts to zero.
func (o *sentLog) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.voteRequests, o.offers = map[string]int{}, map[string]int{}
}

// offered is a copy of offers.
func (o *sentLog) offered() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.offers)
}

func withSentLog(t *testing.T, change func(*config), play func(*cluster, *sentLog)) {
	t.Helper()
	o := &sentLog{}
	o.reset()
	withCluster(t, 3, func(c *config) {
		observe(c, o)
		if change != nil {
			change(c)
		}
	}, func(cluster *cluster) { play(cluster, o) })
}

// A leader that resigned without a successor does not stand for two detection times, even if
// no other member can be elected.
func TestALeaderThatResignedDoesNotStandAtOnce(t *testing.T) {
	withSentLog(t, nil, func(cluster *cluster, o *sentLog) {
		first := cluster.awaitLeader()
		cluster.deafen(first)
		others := cluster.others(first)
		cluster.network.SetLink(others[0].id, others[1].id, rpc.Link{Cut: true})
		cluster.network.SetLink(others[1].id, others[0].id, rpc.Link{Cut: true})
		require.NoError(t, first.el.Resign(context.Background()))
		assert.NotEqual(t, memberstate.Leader, first.el.Status().Role)
		o.reset()
		cluster.pass(2*elector.DefaultTiming().Detection() - time.Millisecond)
		o.mu.Lock()
		assert.Zero(t, o.voteRequests[first.id], "it stood again at once")
		assert.Positive(t, o.voteRequests[others[0].id]+o.voteRequests[others[1].id], "the others did not stand, so this shows nothing")
		o.mu.Unlock()
		cluster.pass(10 * elector.DefaultTiming().Detection())
		o.mu.Lock()
		assert.Positive(t, o.voteRequests[first.id], "it never stands again")
		o.mu.Unlock()
		cluster.network.SetAll(rpc.Link{Delay: time.Millisecond})
	})
}

func TestATransferToANamedVoterIsOfferedToNoOther(t *testing.T) {
	withSentLog(t, nil, func(cluster *cluster, o *sentLog) {
		for range 3 {
			leader := cluster.awaitLeader()
			for _, heir := range cluster.others(leader) {
				cluster.awaitLeader()
				if leader.el.Status().Role != memberstate.Leader {
					require.NoError(t, cluster.awaitLeader().el.TransferLeadership(context.Background(), leader.id))
					cluster.awaitLeader()
				}
				o.reset()
				require.NoError(t, leader.el.TransferLeadership(context.Background(), heir.id))
				assert.Equal(t, heir, cluster.awaitLeader())
				offered := o.offered()
				assert.Len(t, offered, 1)
				assert.Positive(t, offered[heir.id])
			}
		}
		leader := cluster.awaitLeader()
		heir := cluster.others(leader)[0]
		cluster.network.SetLink(leader.id, heir.id, rpc.Link{Cut: true})
		o.reset()
		require.ErrorIs(t, leader.el.TransferLeadership(context.Background(), heir.id), elector.ErrTransferFailed)
		assert.Zero(t, o.offered()[cluster.others(leader)[1].id], "another was offered the leadership")
		assert.Equal(t, memberstate.Leader, leader.el.Status().Role, "it goes on leading")
		cluster.network.SetAll(rpc.Link{Delay: time.Millisecond})
	})
}

// Calls return when the group ends, even if their contexts have not ended.
func TestCallsEndWhenTheGroupEnds(t *testing.T) {
	for name, call := range map[string]func(el *elector.Elector) error{
		"Heard of a term that is not saved yet": func(el *elector.Elector) error { return el.Heard(3, "n1") },
		"Watch": func(el *elector.Elector) error {
			last := elector.Status{}
			for last = range el.Watch(context.Background()) {
				continue
			}
			if !last.Stopped {
				return assert.AnError
			}
			return elector.ErrStopped
		},
	} {
		t.Run(name, func(t *testing.T) {
			withSlowDisk(t, func(el *elector.Elector, store *gatedStore, n1 rpc.Message) {
				el.Host().Receive([]rpc.Message{n1}) // a new term, to be saved
				waiting := order(func(context.Context) error { return call(el) })
				stopped := order(func(context.Context) error { return el.Stop(endedContext()) })
				require.ErrorIs(t, waiting.answered(t), elector.ErrStopped)
				close(store.gate)
				require.NoError(t, stopped.answered(t))
				report, err := el.Report(context.Background())
				require.NoError(t, err)
				assert.True(t, report.Stopped)
			})
		})
	}
}

func TestATransferEndsWithTheMember(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		engines.holdPauses()
		c := transfer(leader, "")
		cluster.kill(leader)
		require.ErrorIs(t, c.answered(t), elector.ErrStopped)
		assert.Equal(t, engines.read(&engines.pausing), engines.read(&engines.resumed), "Pause's context has ended")
	})
}

// Stop returns, and Done is closed, once no callback runs.
func TestStopWaitsForEveryCallback(t *testing.T) {
	for name, hold := range map[string]func(c *config, held <-chan struct{}){
		"Lead": func(c *config, held <-chan struct{}) {
			c.Lead = func(context.Context, memberstate.Term) error { <-held; return nil }
		},
		"Pause": func(c *config, held <-chan struct{}) {
			c.Pause = func(context.Context, memberstate.Term) error { <-held; return nil }
		},
		"a handler": func(c *config, held <-chan struct{}) {
			c.Handlers = []elector.RoleHandler{&holdingHandler{held: held}}
		},
	} {
		for _, hurry := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				var held chan struct{}
				withNewCluster(t, 3, func(c *config) { hold(c, held) }, func(cluster *cluster) {
					held = make(chan struct{}) // made in the bubble
					cluster.startAll()
					leader := cluster.awaitLeader()
					transfer(leader, cluster.others(leader)[0].id)
					cluster.pass(10 * time.Millisecond) // until Pause is called, or Lead must return
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					if hurry {
						cancel()
					}
					stopped := order(func(context.Context) error { return leader.el.Stop(ctx) })
					cluster.pass(time.Minute)
					select {
					case err := <-stopped.outcome:
						t.Error("Stop did not wait", err)
					case <-leader.el.Done():
						t.Error("Done is closed, and a callback runs")
					default:
					}
					close(held)
					require.NoError(t, stopped.answered(t))
				})
			})
		}
	}
}

func TestStopWaitsForEveryHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, held := singleConfig(), []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
		for _, h := range held {
			c.Handlers = append(c.Handlers, &holdingHandler{h})
		}
		el := startElector(t, c)
		stopped := order(el.Stop)
		for _, h := range held {
			assert.Empty(t, stopped.outcome)
			close(h)
			synctest.Wait()
		}
		require.NoError(t, stopped.answered(t))
	})
}

// All of them see the end of their member in one turn of the loop. Here a function of Metrics blocks it, which it should not do.
func TestStopDoesNotWaitForHandlersThatHaveEndedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := singleConfig()
		c.Metrics = &elector.Metrics{Changed: func(s elector.Status) {
			if s.Stopped {
				<-time.After(time.Second) // virtual time
			}
		}}
		for range 3 {
			c.Handlers = append(c.Handlers, onStartup(func() {}))
		}
		stopped := order(startElector(t, c).Stop)
		<-time.After(time.Minute) // virtual time
		require.NoError(t, stopped.answered(t))
	})
}

// holdingHandler's Shutdown returns once held is closed.
type holdingHandler struct{ held <-chan struct{} }

func (*holdingHandler) Startup()              {}
func (*holdingHandler) Handle(elector.Status) {}
func (h *holdingHandler) Shutdown()           { <-h.held }

// A leader that hears of a larger term steps down and ends Lead's context before the term is saved.
func TestALeaderStepsDownBeforeTheLargerTermIsSaved(t *testing.T) {
	stores := map[string]*gatedStore{}
	withCluster(t, 3, func(c *config) {
		stores[c.Self] = new(gatedStore)
		c.Store = stores[c.Self]
	}, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		heir := cluster.others(leader)[0]
		gate := make(chan error)
		stores[leader.id].gate = gate
		leader.el.Host().Receive([]rpc.Message{heartbeat(t, heir.id, leader.id, leader.el.Status().Term+1)})
		synctest.Wait()
		assert.NotEqual(t, memberstate.Leader, leader.el.Status().Role)
		assert.False(t, cluster.serves(leader), "its Lead goes on")
		close(gate)
		cluster.awaitLeader()
	})
}

// Lease never returns a lease that has run out, down to the nanosecond, and a lease that has run
// out does not come back.
func TestALeaseIsNotReturnedAfterItsEnd(t *testing.T) {
	withCluster(t, 3, func(c *config) { c.Leases = true }, func(cluster *cluster) {
		for range 20 { // chance decides which goroutine runs first in the last nanosecond
			leader := cluster.awaitLeader()
			cluster.pass(time.Second)
			cluster.cut(leader.id)
			_, until, ok := leader.el.Lease()
			require.True(t, ok)
			for ok {
				left := time.Until(until)
				require.Positive(t, left)
				<-time.After(min(left, 5*time.Millisecond))
				_, until, ok = leader.el.Lease()
			}
			cluster.pass(time.Second)
			assert.False(t, holdsLease(leader.el))
			cluster.reconnect(leader.id)
		}
	})
}

// Lease does not return a lease that was given back: neither once the heir asks for votes, nor
// after Resign or Stop has returned.
func TestALeaseIsNotReturnedAfterItWasGivenBack(t *testing.T) {
	var offered atomic.Int32
	withSentLog(t, func(c *config) { c.Leases = true }, func(cluster *cluster, o *sentLog) {
		o.mu.Lock()
		o.onTakeover = func() {
			offered.Add(1)
			for _, n := range cluster.nodes {
				assert.False(t, holdsLease(n.el), "the heir asks for votes while a lease is held")
			}
		}
		o.mu.Unlock()
		holder := func() *node {
			t.Helper()
			leader := cluster.awaitLeader()
			cluster.pass(time.Second)
			require.True(t, holdsLease(leader.el))
			return leader
		}
		leader := holder()
		require.NoError(t, leader.el.TransferLeadership(context.Background(), ""))
		assert.False(t, holdsLease(leader.el))
		leader = holder()
		require.NoError(t, leader.el.Resign(context.Background()))
		assert.False(t, holdsLease(leader.el))
		leader = holder()
		require.NoError(t, leader.el.Stop(context.Background()))
		assert.False(t, holdsLease(leader.el))
		require.NoError(t, cluster.stop(leader))
	})
	assert.Positive(t, offered.Load())
}

// Pause's context ends however the handover ends, so that writes can go on.
func TestPausesContextEndsWithTheHandover(t *testing.T) {
	failed := func(after func(cluster *cluster, leader *node)) func(*testing.T, *cluster, *engines, *node) {
		return func(t *testing.T, cluster *cluster, engines *engines, leader *node) {
			t.Helper()
			release := engines.holdPauses()
			c := transfer(leader, cluster.others(leader)[0].id)
			cluster.pass(10 * time.Millisecond)
			after(cluster, leader)
			release <- nil
			cluster.pass(5 * time.Second)
			require.ErrorIs(t, c.answered(t), elector.ErrTransferFailed)
			cluster.network.SetAll(rpc.Link{Delay: time.Millisecond})
		}
	}
	for name, ends := range map[string]func(*testing.T, *cluster, *engines, *node){
		"it succeeds": func(t *testing.T, _ *cluster, _ *engines, leader *node) {
			t.Helper()
			require.NoError(t, leader.el.TransferLeadership(context.Background(), ""))
		},
		"the heir is cut off":   failed(func(cluster *cluster, leader *node) { cluster.cut(cluster.others(leader)[0].id) }),
		"the leader is cut off": failed(func(cluster *cluster, leader *node) { cluster.cut(leader.id) }),
		"it is stopped": func(t *testing.T, cluster *cluster, _ *engines, leader *node) {
			t.Helper()
			require.NoError(t, cluster.stop(leader))
		},
	} {
		t.Run(name, func(t *testing.T) {
			withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
				ends(t, cluster, engines, leader)
				cluster.pass(5 * time.Second)
				assert.Positive(t, engines.read(&engines.pausing))
				assert.Equal(t, engines.read(&engines.pausing), engines.read(&engines.resumed))
			})
		})
	}
}

func TestAMemberWhoseLeadReturnsResigns(t *testing.T) {
	for name, problem := range map[string]error{"with an error": assert.AnError, "without one": nil} {
		t.Run(name, func(t *testing.T) {
			withCluster(t, 3, func(c *config) {
				lead := c.Lead
				c.Lead = func(ctx context.Context, term memberstate.Term) error {
					if term > 1 {
						return lead(ctx, term)
					}
					<-time.After(time.Second)
					return problem
				}
			}, func(cluster *cluster) {
				first := cluster.awaitLeader()
				require.EqualValues(t, 1, first.el.Status().Term)
				cluster.pass(2 * time.Second)
				next := cluster.awaitLeader()
				assert.NotEqual(t, first, next)
				assert.Greater(t, next.el.Status().Term, memberstate.Term(1))
			})
		})
	}
}
