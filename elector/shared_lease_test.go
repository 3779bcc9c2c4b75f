// Leaders that rest share a lease: what their engines see of it.

package elector_test

import (
	"context"
	"fmt"
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

// serving records when the contexts of the Leads at one node end, by group.
type serving struct {
	mu    sync.Mutex
	ended map[string]time.Time
}

func (s *serving) lead(group string) func(context.Context, memberstate.Term) error {
	return func(ctx context.Context, _ memberstate.Term) error {
		<-ctx.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ended[group].IsZero() {
			s.ended[group] = time.Now()
		}
		return nil
	}
}

// The network is cut, or the loop of the leaders' node hangs too. All Leads of the cohort end when the lease ends, not
// later, and nobody is shown a lease after that.
func TestAllLeadsEndWithTheLeaseThatTheyShare(t *testing.T) {
	const groups = 30
	for name, hangs := range map[string]bool{"the network is cut": false, "the loop hangs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network, hosts := rpc.NewNetwork(1), [3]*elector.Host{}
				network.SetAll(rpc.Link{Delay: time.Millisecond})
				s := serving{ended: map[string]time.Time{}}
				var gate atomic.Pointer[chan struct{}] // that the loop waits at
				for i := range hosts {
					self := fmt.Sprint("n", i)
					config := elector.HostConfig{Self: self, Store: new(memberstate.MemStore), Transport: network.Join(self)}
					if i == 0 && hangs {
						config.Metrics = &elector.Metrics{BeatSent: func(string) {
							if closed := gate.Load(); closed != nil {
								<-*closed
							}
						}}
					}
					hosts[i] = elector.MustHost(t, config)
					_, err := hosts[i].JoinAll(func(yield func(elector.GroupConfig) bool) {
						for g := range groups {
							c := elector.GroupOf(fmt.Sprint("g", g), "n0", "n1", "n2")
							if c.Leases = true; i == 0 {
								c.Lead = s.lead(c.Group)
							}
							if !yield(c) {
								return
							}
						}
					})
					require.NoError(t, err)
					require.NoError(t, hosts[i].StartAll())
				}
				<-time.After(10 * time.Second)
				synctest.Wait()
				s.mu.Lock()
				clear(s.ended) // of handovers at the start
				s.mu.Unlock()
				closed := make(chan struct{})
				gate.Store(&closed)
				network.SetAll(rpc.Link{Cut: true})
				<-time.After(elector.DefaultTiming().Heartbeat + 10*time.Millisecond) // nothing is on its way any more
				ends := map[string]time.Time{}
				for _, el := range hosts[0].Electors() {
					if _, until, held := el.Lease(); held {
						ends[el.Status().Group] = until
					}
				}
				assert.Greater(t, len(ends), groups/6)
				latest := time.Time{}
				for _, until := range ends {
					assert.True(t, latest.IsZero() || until.Equal(latest), "they share one")
					latest = until
				}
				<-time.After(time.Until(latest) - 1)
				synctest.Wait()
				s.mu.Lock()
				assert.Empty(t, s.ended, "it is not over yet")
				s.mu.Unlock()
				<-time.After(1)
				synctest.Wait()
				s.mu.Lock()
				assert.Equal(t, ends, s.ended)
				s.mu.Unlock()
				for _, el := range hosts[0].Electors() {
					assert.False(t, holdsLease(el))
				}
				<-time.After(time.Second)
				gate.Store(nil)
				close(closed)
				network.SetAll(rpc.Link{Delay: time.Millisecond})
				<-time.After(5 * time.Second)
				led := 0
				for _, count := range ledBy(hosts[:]) {
					led += count
				}
				assert.Equal(t, groups, led, "all are led again")
				for _, h := range hosts {
					require.NoError(t, h.Close(endedContext()))
				}
			})
		})
	}
}

// The loop hangs until the lease has run out, and not until others are elected. Its engines have been told that they have none, so
// the leaders give up their offices, instead of leading on without a lease.
func TestWhoeverLeadsAfterASharedLeaseHasRunOutHasALease(t *testing.T) {
	var gate atomic.Pointer[chan struct{}] // that the loop of n0 waits at
	hang := func(node int, c *elector.HostConfig) {
		if node > 0 {
			return
		}
		c.Metrics = &elector.Metrics{BeatSent: func(string) {
			if closed := gate.Load(); closed != nil {
				<-*closed
			}
		}}
	}
	withFleet(t, hang, func(f *fleet) {
		<-time.After(5 * time.Second) // all groups rest
		closed := make(chan struct{})
		gate.Store(&closed)
		<-time.After(f.timing.Heartbeat + 10*time.Millisecond)
		var over time.Time
		for _, el := range f.hosts[0].Electors() {
			if _, until, held := el.Lease(); held {
				over = until
			}
		}
		require.NotZero(t, over)
		<-time.After(time.Until(over) + 1)
		gate.Store(nil)
		close(closed)
		<-time.After(5 * time.Second)
		nodes, _ := f.leaders()
		for g := 0; g < f.groups; g += 2 {
			require.NotEqual(t, -1, nodes[g])
			assert.True(t, holdsLease(f.hosts[nodes[g]].Elector(fmt.Sprint("g", g))), g)
		}
	})
}

// A group that hands over leaves the lease of its cohort first, so it holds none any more, and the others hold theirs.
func TestAHandoverEndsItsOwnLeaseOnly(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		nodes, terms := f.leaders()
		from, to := nodes[0], (nodes[0]+1)%3
		el := f.hosts[from].Elector("g0")
		require.True(t, holdsLease(el))
		require.NoError(t, el.TransferLeadership(context.Background(), fmt.Sprint("n", to)))
		assert.False(t, holdsLease(el))
		<-time.After(time.Second)
		nodes[0], terms[0] = to, terms[0]+1
		f.assertLed(nodes, terms)
		for g := 0; g < f.groups; g += 2 {
			assert.True(t, holdsLease(f.hosts[nodes[g]].Elector(fmt.Sprint("g", g))), g)
		}
	})
}

// The followers of one group are gone, and their nodes are there. Beats between nodes go on, and with them the lease that other groups share,
// but nobody has promised anything to this group's leader since.
func TestALeaseThatIsSharedNoMoreEnds(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		nodes, _ := f.leaders()
		el := f.hosts[nodes[0]].Elector("g0")
		for i, h := range f.hosts {
			if i != nodes[0] {
				require.NoError(t, h.Elector("g0").Stop(endedContext()))
			}
		}
		<-time.After(f.timing.Heartbeat)
		_, until, held := el.Lease()
		require.True(t, held)
		<-time.After(time.Until(until) - 1)
		assert.True(t, holdsLease(el))
		<-time.After(1)
		assert.False(t, holdsLease(el))
		for g := 2; g < f.groups; g += 2 {
			assert.True(t, holdsLease(f.hosts[nodes[g]].Elector(fmt.Sprint("g", g))), g)
		}
	})
}

// A lone voter rests although its observer is gone, and its lease goes on all the same.
func TestALoneVotersLeaseGoesOnWithoutItsObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, els := rpc.NewNetwork(1), [2]*elector.Elector{}
		network.SetAll(rpc.Link{Delay: time.Millisecond})
		for i := range els {
			self := fmt.Sprint("n", i)
			host := elector.MustHost(t, elector.HostConfig{Self: self, Store: new(memberstate.MemStore), Transport: network.Join(self)})
			c := elector.GroupOf("g", "n0")
			c.Members, c.Leases = append(memberstate.Voters("n0"), memberstate.Member{ID: "n1", Observer: true}), true
			els[i] = elector.MustJoin(t, host, c)
			require.NoError(t, els[i].Start())
		}
		<-time.After(5 * time.Second)
		network.SetAll(rpc.Link{Cut: true})
		term := els[0].Status().Term
		for range 100 {
			<-time.After(elector.DefaultTiming().Detection() / 3)
			assert.True(t, holdsLease(els[0]))
		}
		assert.Equal(t, term, els[0].Status().Term)
		for _, el := range els {
			require.NoError(t, el.Stop(endedContext()))
		}
	})
}
