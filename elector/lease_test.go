// How long a lease may be used: less than the others wait, by what clocks may drift apart.

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
		timing := elector.DefaultTiming()
		el, err := elector.New(elector.HostConfig{Self: "a", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("a")}, elector.GroupConfig{
			Group: "orders", Members: memberstate.Voters("a"), Timing: timing, Leases: true,
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(t, err)
		require.NoError(t, el.Start())
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

// A leader that is cut off goes on beating for Leak heartbeats. Its lease must run out all the
// same by when the last answered beat was sent, before the others may elect: with however many
// beats there are after that one.
func TestALeaderThatIsCutOffHoldsNoLeaseBesideTheNextOne(t *testing.T) {
	for leak := 3; leak <= 12; leak++ {
		t.Run(fmt.Sprintf("leak %d", leak), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timing := elector.DefaultTiming()
				timing.Leak = leak
				g := startGroup(t, timing)
				old := g.awaitLease(nil)
				g.cutOff(old)
				next := g.awaitLease(g.electors[old])
				assert.NotEqual(t, old, next)
			})
		})
	}
}

// leaseGroup is three electors with leases in one process.
type leaseGroup struct {
	t        *testing.T
	ids      []string
	network  *rpc.Network
	electors []*elector.Elector
}

func startGroup(t *testing.T, timing elector.Timing) *leaseGroup {
	t.Helper()
	g := &leaseGroup{t: t, ids: []string{"a", "b", "c"}, network: rpc.NewNetwork(1)}
	for _, id := range g.ids {
		el, err := elector.New(elector.HostConfig{Self: id, Store: new(memberstate.MemStore), Transport: g.network.Join(id)}, elector.GroupConfig{
			Group: "orders", Members: memberstate.Voters(g.ids...), Timing: timing, Leases: true,
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(t, err)
		require.NoError(t, el.Start())
		t.Cleanup(func() { assert.NoError(t, el.Stop(context.Background())) })
		g.electors = append(g.electors, el)
	}
	return g
}

// cutOff cuts all links of one of them.
func (g *leaseGroup) cutOff(who int) {
	for _, id := range g.ids {
		if id != g.ids[who] {
			g.network.SetLink(id, g.ids[who], rpc.Link{Cut: true})
			g.network.SetLink(g.ids[who], id, rpc.Link{Cut: true})
		}
	}
}

// awaitLease looks every millisecond until somebody but this elector holds a lease, and that
// nobody else does at the same time.
func (g *leaseGroup) awaitLease(but *elector.Elector) int {
	g.t.Helper()
	for range 100 * time.Second / time.Millisecond {
		<-time.After(time.Millisecond)
		synctest.Wait()
		var holders []int
		for i, el := range g.electors {
			if _, _, ok := el.Lease(); ok {
				holders = append(holders, i)
			}
		}
		require.LessOrEqual(g.t, len(holders), 1, "members that hold a lease at one time")
		if len(holders) == 1 && g.electors[holders[0]] != but {
			return holders[0]
		}
	}
	g.t.Fatal("nobody holds a lease")
	return 0
}

// Leases are turned off member by member, each restarted in turn, the leader last, as an
// upgrade does. At every step there is a leader that serves, with a lease as long as it has
// leases itself.
func TestLeasesAreTurnedOffMemberByMember(t *testing.T) {
	without := map[string]bool{}
	change := func(c *config) { c.Leases = !without[c.Self] }
	inTown(t, 3, change, func(town *town) {
		serves := func() string {
			town.pass(10 * time.Second)
			leader := town.settled()
			require.NotNil(t, leader)
			_, _, held := leader.el.Lease()
			assert.Equal(t, !without[leader.id], held, "%s holds a lease", leader.id)
			town.offices.mu.Lock()
			defer town.offices.mu.Unlock()
			assert.Contains(t, town.offices.serving, leader.id, "%s leads and does not serve", leader.id)
			return leader.id
		}
		first := serves()
		for _, n := range append(town.others(town.nodes[first]), town.nodes[first]) {
			require.NoError(t, town.end(n))
			without[n.id] = true
			town.start(n.id)
			serves()
		}
	})
}

// Where round trips are longer than a lease, each one that is confirmed has run out
// already: nobody is called to lead under it.
func TestNobodyIsCalledToLeadWhereRoundTripsAreLongerThanLeases(t *testing.T) {
	for name, is := range map[string]struct {
		leak          int
		margin, delay time.Duration
	}{
		"a little longer": {3, 15 * time.Millisecond, 145 * time.Millisecond},
		"much longer":     {4, 200 * time.Millisecond, 190 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			var called, leading atomic.Int32
			synctest.Test(t, func(t *testing.T) {
				town := newTown(t, 3, func(c *config) {
					c.Leases, c.Timing.Leak, c.Timing.DriftMargin = true, is.leak, is.margin
					c.Lead = func(ctx context.Context, _ memberstate.Term) error {
						called.Add(1)
						<-ctx.Done()
						return nil
					}
					c.Metrics = &elector.Metrics{Changed: func(s elector.Status) {
						if s.Role == memberstate.Leader {
							leading.Add(1)
						}
					}}
				})
				town.network.SetAll(rpc.Link{Delay: is.delay})
				town.open()
				defer town.close()
				town.pass(time.Minute)
			})
			assert.Zero(t, called.Load())
			assert.Greater(t, leading.Load(), int32(10), "they make way all the same")
		})
	}
}
