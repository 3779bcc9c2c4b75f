// Nodes lead about as many groups each, if they are to.

package elector_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

const often = 2 * time.Second

// uneven plays a test with three nodes, of which n0 and n1 lead everything.
func uneven(t *testing.T, f *fleet, play func(*fleet)) {
	t.Helper()
	f.timing = elector.DefaultTiming()
	withFleetOf(t, f, func(f *fleet) {
		require.NoError(t, drain(f.hosts[2]))
		require.NoError(t, f.hosts[2].Serve())
		<-time.After(f.timing.Detection())
		require.Zero(t, f.ledBy()[2])
		play(f)
	})
}

func (f *fleet) balance(every time.Duration) {
	f.t.Helper()
	for _, h := range f.hosts {
		require.NoError(f.t, h.Balance(every))
	}
}

func (f *fleet) plan(node int) protocol.BalancePlan {
	f.t.Helper()
	plan, err := f.hosts[node].BalancePlan(context.Background())
	require.NoError(f.t, err)
	return plan
}

func TestNodesThatBalanceLeadAboutAsManyGroupsEach(t *testing.T) {
	uneven(t, &fleet{groups: 1200}, func(f *fleet) {
		before, led := f.ledBy(), 0
		_, terms := f.leaders()
		<-time.After(time.Minute)
		assert.Equal(t, before, f.ledBy(), "nothing moves by itself")
		plan := f.plan(0)
		assert.Equal(t, protocol.BalancePlan{Shares: []protocol.BalanceShare{{To: "n2", Groups: before[0] / 100}}}, plan)
		f.balance(often)
		for range 200 {
			<-time.After(often)
			now := f.ledBy()[2]
			assert.LessOrEqual(t, now-led, before[0]/100+before[1]/100, "one group in a hundred of each node")
			assert.GreaterOrEqual(t, now, led, "none is handed back")
			led = now
		}
		for node, led := range f.ledBy() {
			assert.InDelta(t, f.groups/3, led, float64(f.groups/3/10), node)
		}
		assert.Equal(t, f.ledBy()[2], f.elections(terms), "each group has moved once")
		_, terms = f.leaders()
		<-time.After(100 * often)
		assert.Zero(t, f.elections(terms), "nothing moves any more")
		assert.Equal(t, "no other node that serves leads much less for its capacity", f.plan(0).Why)
	})
}

func TestNothingIsHandedOverForBalance(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *fleet)
		why    string // empty: n0 and n1 may give to each other
	}{
		"by nodes that are protected": {func(f *fleet) {
			require.NoError(f.t, f.hosts[0].Protect(true))
			require.NoError(f.t, f.hosts[1].Protect(true))
		}, "the node is protected"},
		"while others are silent": {func(f *fleet) { f.isolate(2, true) }, "more than a third of the other nodes are silent"},
		"to a node that drains":   {func(f *fleet) { require.NoError(f.t, drain(f.hosts[2])) }, ""},
		"to a member that is not preferred": {func(f *fleet) {
			for _, h := range f.hosts {
				for _, el := range h.Electors() {
					require.NoError(f.t, el.SetPreferred("n0", "n1"))
				}
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			uneven(t, &fleet{groups: 60}, func(f *fleet) {
				c.change(f)
				<-time.After(2 * time.Second)
				_, terms := f.leaders()
				f.balance(often)
				for range 60 {
					<-time.After(often)
					for _, share := range append(f.plan(0).Shares, f.plan(1).Shares...) {
						assert.NotEqual(t, "n2", share.To)
					}
				}
				assert.Zero(t, f.ledBy()[2])
				if c.why != "" {
					assert.Zero(t, f.elections(terms))
					assert.Equal(t, c.why, f.plan(0).Why)
				}
				f.isolate(2, false)
			})
		})
	}
}

func TestANodeThatDrainsDoesNotBalance(t *testing.T) {
	uneven(t, &fleet{groups: 60}, func(f *fleet) {
		require.NoError(t, drain(f.hosts[0]))
		assert.Equal(t, "the node does not serve", f.plan(0).Why)
	})
}

func TestAHostWithoutGroupsWouldGiveNothing(t *testing.T) {
	plan, err := elector.IsolatedHost(t, new(memberstate.MemStore)).BalancePlan(context.Background())
	require.NoError(t, err)
	assert.Equal(t, protocol.BalancePlan{Why: "the node runs no group"}, plan)
}

// Only voters lead, and only observers are left.
func TestNoGroupGoesToAnObserver(t *testing.T) {
	withFleetOf(t, &fleet{groups: 60, timing: elector.DefaultTiming(), observes: true}, func(f *fleet) {
		f.balance(often)
		<-time.After(60 * often)
		led := f.ledBy()
		assert.Zero(t, led[2])
		assert.InDelta(t, led[0], led[1], 6, "an observer does not keep voters from balancing")
	})
}

// A group whose leader is new has just come, perhaps from a node that balances, too.
func TestAGroupStaysAWhileWhereItHasCome(t *testing.T) {
	uneven(t, &fleet{groups: 60}, func(f *fleet) {
		require.NoError(t, f.hosts[2].Balance(often))
		for _, el := range f.hosts[0].Electors() {
			if el.Status().Role == memberstate.Leader {
				require.NoError(t, el.TransferLeadership(context.Background(), "n2"))
			}
		}
		led := f.ledBy()[2]
		assert.Zero(t, f.ledBy()[0])
		<-time.After(29 * often)
		assert.Equal(t, "no group may go to the nodes that lead less, each is too heavy for the difference, or others give them some", f.plan(2).Why)
		assert.Equal(t, led, f.ledBy()[2])
		<-time.After(2 * often)
		assert.Less(t, f.ledBy()[2], led)
	})
}

func TestBalanceIsTurnedOnAndOff(t *testing.T) {
	uneven(t, &fleet{groups: 60, change: func(_ int, c *elector.HostConfig) { c.Balance = often }}, func(f *fleet) {
		assert.Equal(t, often, f.plan(0).Every)
		_, terms := f.leaders()
		<-time.After(29 * often)
		assert.Zero(t, f.elections(terms), "they have just begun to lead")
		<-time.After(5 * often)
		assert.Positive(t, f.ledBy()[2])
		f.balance(0)
		_, terms = f.leaders()
		<-time.After(100 * often)
		assert.Zero(t, f.elections(terms))
		var bad *elector.ConfigError
		require.ErrorAs(t, f.hosts[0].Balance(-1), &bad)
		assert.Equal(t, "Balance", bad.Field)
	})
}
