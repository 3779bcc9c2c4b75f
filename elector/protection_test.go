// A node that is protected hands over nothing of its own accord.

package elector_test

import (
	"context"
	"fmt"
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

func TestAProtectedNodeDoesNotDrain(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		before := f.ledBy()
		require.NoError(t, f.hosts[0].Protect(true))
		var stuck *elector.StuckError
		err := drain(f.hosts[0])
		require.ErrorIs(t, err, elector.ErrProtected)
		require.ErrorAs(t, err, &stuck)
		assert.Equal(t, before[0], stuck.Progress.Waiting, "all of them wait")
		assert.Zero(t, stuck.Progress.AllStuck())
		<-time.After(time.Minute)
		assert.Equal(t, before, f.ledBy())

		require.NoError(t, f.hosts[0].Protect(false))
		<-time.After(f.timing.Heartbeat)
		assert.Zero(t, f.ledBy()[0], "the drain has gone on")
		require.NoError(t, drain(f.hosts[0]))
	})
}

// That nobody could take over its groups is not why it leads on now.
func TestAProtectedNodeSaysSoAlsoIfItHasTriedAllItsGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		require.NoError(t, join(t, host, "g", "n0").Start())
		<-time.After(time.Second) // virtual time
		var stuck *elector.StuckError
		require.ErrorAs(t, drain(host), &stuck)
		require.NoError(t, stuck.Cause)
		require.NoError(t, host.Protect(true))
		require.True(t, host.Progress().Hopeless)
		require.ErrorIs(t, drain(host), elector.ErrProtected)
		require.NoError(t, host.Close(t.Context()))
	})
}

// There is nothing that it would have to hand over.
func TestAProtectedNodeThatLeadsNothingIsDrained(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, drain(f.hosts[0]))
		require.NoError(t, f.hosts[0].Serve())
		require.NoError(t, f.hosts[0].Protect(true))
		require.NoError(t, drain(f.hosts[0]))
	})
}

// It has only to lead nothing for a heartbeat.
func TestANodeThatHasHandedAllOverIsDrainedAlsoIfItIsProtectedThen(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		ended := make(chan error)
		go func() { ended <- drain(f.hosts[0]) }()
		for synctest.Wait(); f.hosts[0].Progress().Led > 0; {
			<-time.After(time.Millisecond)
		}
		require.Equal(t, rpc.Draining, f.hosts[0].Progress().Standing.State)
		require.NoError(t, f.hosts[0].Protect(true))
		require.NoError(t, <-ended)
	})
}

func TestProtectionEndsTheWaitForADrain(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		f.isolate(0, true)
		ended := make(chan error)
		go func() { ended <- drain(f.hosts[0]) }()
		synctest.Wait()
		require.NoError(t, f.hosts[0].Protect(true))
		require.ErrorIs(t, <-ended, elector.ErrProtected)
		f.isolate(0, false)
	})
}

// An operator who has closed a host begins anew with it. A node that was still protected would refuse drains for a reason that is over.
func TestProtectionEndsWithClose(t *testing.T) {
	nothing := func(*testing.T, *elector.Host) {}
	protect := func(t *testing.T, h *elector.Host) {
		t.Helper()
		assert.NoError(t, h.Protect(true))
	}
	for name, c := range map[string]struct {
		before, meanwhile func(t *testing.T, h *elector.Host)
		others            int // groups that it leads
	}{
		"its groups run": {nothing, nothing, 0},
		"its groups have ended": {func(t *testing.T, h *elector.Host) {
			t.Helper()
			require.NoError(t, h.Elector("g").Stop(endedContext()))
		}, nothing, 0},
		"it is protected meanwhile":                {nothing, protect, 0},
		"it is protected after it has handed over": {nothing, protect, protocol.UsualMoves},
		"another group begins meanwhile, and the loop goes on": {nothing, func(t *testing.T, h *elector.Host) {
			t.Helper()
			assert.NoError(t, join(t, h, "late", "n0").Start())
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, closing := elector.IsolatedHost(t, new(memberstate.MemStore)), false
				config := elector.GroupOf("g", "n0")
				config.Lead = func(ctx context.Context, _ memberstate.Term) error {
					if <-ctx.Done(); closing {
						c.meanwhile(t, host)
					}
					return nil
				}
				elector.MustJoin(t, host, config)
				for i := range c.others {
					join(t, host, fmt.Sprint("other ", i), "n0")
				}
				require.NoError(t, host.StartAll())
				<-time.After(5 * time.Second)
				require.Equal(t, 1+c.others, host.Progress().Led)
				require.NoError(t, host.Protect(true))
				c.before(t, host)
				assert.True(t, host.Progress().Protected, "until it is closed")
				closing = true
				require.NoError(t, host.Close(t.Context()))
				assert.False(t, host.Progress().Protected)
				require.NoError(t, join(t, host, "g", "n0").Start())
				assert.False(t, host.Progress().Protected, "nor are groups that join later")
				require.NoError(t, host.Close(endedContext()))
			})
		})
	}
}

// What the operator has ordered beside it lasts.
func TestANodeThatWasDrainedAndProtectedIsDrainedAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		el := join(t, host, "g", "n0", "n1")
		require.NoError(t, el.Start())
		require.NoError(t, host.Drain(t.Context()))
		require.NoError(t, host.Protect(true))
		require.NoError(t, el.Stop(endedContext()))
		require.NoError(t, host.Close(t.Context()))
		assert.False(t, host.Progress().Protected)
		assert.Equal(t, rpc.Drained, host.Progress().Standing.State)
	})
}

func TestAnOrderForOneGroupIsDoneUnderProtection(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		require.NoError(t, f.hosts[0].Protect(true))
		before := f.ledBy()[0]
		for _, el := range f.hosts[0].Electors() {
			if el.Status().Role == memberstate.Leader {
				require.NoError(t, el.TransferLeadership(context.Background(), ""))
				break
			}
		}
		assert.Equal(t, before-1, f.ledBy()[0])
	})
}

func TestAProtectedNodeOffersPreferredMembersNothing(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		prefer := func(groups int) {
			for _, h := range f.hosts {
				for _, el := range h.Electors()[:groups] {
					require.NoError(t, el.SetPreferred("n0"))
				}
			}
			<-time.After(5 * f.timing.Detection())
		}
		before := f.ledBy()
		for _, h := range f.hosts {
			require.NoError(t, h.Protect(true))
		}
		prefer(f.groups)
		assert.Equal(t, before, f.ledBy())
		messages, _ := f.traffic(time.Minute)
		assert.Zero(t, messages, "its leaders rest, because they offer nothing")
		for _, h := range f.hosts {
			require.NoError(t, h.Protect(false))
		}
		<-time.After(5 * f.timing.Detection())
		assert.Equal(t, map[int]int{0: f.groups}, f.ledBy())
	})
}

func TestAGroupThatJoinsLaterIsProtected(t *testing.T) {
	withFleet(t, nil, func(f *fleet) {
		join := func(node int) *elector.Elector {
			require.NoError(t, f.hosts[node].Protect(true))
			c := elector.GroupOf("late", "n0", "n1", "n2")
			c.Timing, c.Preferred = f.timing, []string{"n0"}
			el, err := f.hosts[node].Join(c)
			require.NoError(t, err)
			require.NoError(t, el.Start())
			return el
		}
		others := []*elector.Elector{join(1), join(2)}
		<-time.After(5 * f.timing.Detection())
		preferred := join(0)
		<-time.After(time.Minute)
		leader := preferred.Status().Leader
		assert.NotEqual(t, f.hosts[0].Self(), leader)
		assert.NotEmpty(t, leader)
		assert.Equal(t, leader, others[0].Status().Leader)
	})
}
