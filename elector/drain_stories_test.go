// Drains meet what comes in their way: nodes die, nobody is caught up, and others want the contrary.

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
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/electiontest"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// begin drains a node in the background.
func (f *fleet) begin(node int) (drained <-chan error) {
	ended := make(chan error, 1)
	go func() { ended <- drain(f.hosts[node]) }()
	return ended
}

// await waits in small steps until something is so.
func (f *fleet) await(what string, is func() bool) {
	f.t.Helper()
	for range 10_000 {
		if is() {
			return
		}
		<-time.After(100 * time.Microsecond)
	}
	require.FailNow(f.t, "it never happens: "+what)
}

// standing counts the groups in which a node asks for votes.
func (f *fleet) standing(node int) (standing int) {
	for _, el := range f.hosts[node].Electors() {
		if el.Status().Role == memberstate.Candidate {
			standing++
		}
	}
	return standing
}

// assertMoved checks where groups are led now. Those that n0 led have got a later term, by at most so many, and no other has. None has
// come back to n0.
func (f *fleet) assertMoved(nodes []int, terms []memberstate.Term, most int) {
	f.t.Helper()
	still, in := f.leaders()
	for i, node := range nodes {
		rise := int(in[i] - terms[i])
		if node != 0 {
			assert.Equal(f.t, []int{node, 0}, []int{still[i], rise}, "g%d was not to move", i)
			continue
		}
		assert.NotContains(f.t, []int{-1, 0}, still[i], "g%d", i)
		assert.LessOrEqual(f.t, rise, most, "g%d", i)
	}
}

// Half of the groups are about to be led by n1 when it dies. The drain goes on, with n2 alone.
func TestADrainGoesOnIfTheNodeDiesThatTakesOver(t *testing.T) {
	withFleetOf(t, &fleet{groups: 300, timing: elector.DefaultTiming()}, func(f *fleet) {
		nodes, terms := f.leaders()
		drained := f.begin(0)
		f.await("n1 takes many over at a time", func() bool { return f.standing(1) >= 32 })
		f.kill(1)
		require.NoError(t, <-drained)
		<-time.After(5 * f.timing.Detection())
		assert.Equal(t, map[int]int{2: f.groups}, f.ledBy(), "also what n1 led")
		_, in := f.leaders()
		for i, node := range nodes {
			if node == 2 {
				assert.Equal(t, terms[i], in[i], "g%d is led on", i)
			}
		}
		f.revive(1)
		<-time.After(time.Minute)
		assert.Equal(t, map[int]int{2: f.groups}, f.ledBy(), "nothing comes back")
	})
}

// What it has handed over stays where it is, and the rest is elected. Its next process serves.
func TestANodeThatDiesWhileItDrainsLeavesNothingBehind(t *testing.T) {
	withFleetOf(t, &fleet{groups: 600, timing: elector.DefaultTiming()}, func(f *fleet) {
		nodes, terms := f.leaders()
		_ = f.begin(0)
		f.await("some are moved, and some are on the move", func() bool {
			p := f.hosts[0].Progress()
			return p.Moved > 32 && p.Moving > 32
		})
		at, in := f.leaders()
		f.kill(0)
		<-time.After(5 * f.timing.Detection())
		f.assertMoved(nodes, terms, 2)
		later, _ := f.leaders()
		for i := range at {
			if at[i] > 0 && in[i] > terms[i] {
				assert.Equal(t, at[i], later[i], "g%d had been handed over", i)
			}
		}
		f.revive(0)
		assert.Equal(t, rpc.Serving, f.hosts[0].Progress().Standing.State)
		<-time.After(f.timing.Detection())
		require.NoError(t, drain(f.hosts[1]))
		assert.NotZero(t, f.ledBy()[0], "it is given groups again")
	})
}

// The machine of a node that is kept drained is replaced by one with an id and a store of its own. Nobody takes the new node for the
// old one, which stays drained if it ever comes back.
func TestANodeThatIsDrainedIsReplacedUnderAnotherID(t *testing.T) {
	replaced := false
	f := &fleet{groups: 60, timing: elector.DefaultTiming()}
	f.group = func(_ int, c *elector.GroupConfig) { c.Members = memberstate.Voters("n0", "n1", "n2", "n3") }
	f.change = func(node int, c *elector.HostConfig) {
		if node == 0 && replaced {
			c.Self, c.Store, c.Transport = "n3", new(memberstate.MemStore), f.network.Join("n3")
		}
	}
	withFleetOf(t, f, func(f *fleet) {
		require.NoError(t, f.hosts[0].KeepDrained(true))
		require.NoError(t, drain(f.hosts[0]))
		f.kill(0)
		replaced = true
		f.start(0)
		assert.Equal(t, rpc.Serving, f.hosts[0].Progress().Standing.State)
		assert.False(t, f.hosts[0].Progress().Kept)
		<-time.After(2 * f.timing.Detection())
		known, err := f.hosts[1].Nodes(context.Background())
		require.NoError(t, err)
		require.Len(t, known, 3)
		assert.Equal(t, []any{"n0", rpc.Drained, "n3", rpc.Serving}, []any{known[0].ID, known[0].Standing.State, known[2].ID, known[2].Standing.State})
		require.NoError(t, drain(f.hosts[1]))
		assert.NotZero(t, f.ledBy()[0], "the new node takes its share")
		kept, err := memberstate.IsKeptDrained(f.stores[0])
		require.NoError(t, err)
		assert.True(t, kept, "the old one's store has not been touched")
	})
}

// For half of n0's groups nobody is caught up. They are named, and go on writing. All others move meanwhile.
func TestADrainPassesByGroupsForWhichNobodyIsCaughtUp(t *testing.T) {
	const groups = 300
	var l electiontest.Ledgers
	var paused [groups]atomic.Int32 // the writes of each group at n0, how often
	lags := func(group string) bool { return number(group)%2 == 1 }
	f := &fleet{groups: groups, timing: elector.DefaultTiming()}
	f.group = func(node int, c *elector.GroupConfig) {
		id, group := fmt.Sprint("n", node), c.Group
		c.LedgerEnd = func(memberstate.Term) memberstate.Position { return l.End(id, group) }
		c.Pause = func(context.Context, memberstate.Term) error {
			if node == 0 {
				paused[number(group)].Add(1)
			}
			return nil
		}
	}
	withFleetOf(t, f, func(f *fleet) {
		nodes, terms := f.leaders()
		stuck := map[string]bool{}
		for i, node := range nodes {
			if group := fmt.Sprint("g", i); node == 0 && lags(group) {
				stuck[group] = true
			}
		}
		require.Greater(t, len(stuck), 30)
		f.write(&l, 0, func(group string) bool { return stuck[group] })
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- f.hosts[0].DrainPatiently(ctx) }()
		f.await("all others move", func() bool { return f.ledBy()[0] == len(stuck) })
		var left *elector.StuckError
		require.ErrorAs(t, <-ended, &left)
		require.ErrorIs(t, left, context.DeadlineExceeded, "it waits for those that may catch up")
		assert.Equal(t, len(stuck), left.Progress.Stuck[protocol.StuckBehind])
		assert.Equal(t, len(stuck), left.Progress.Led)
		named, err := f.hosts[0].StuckGroups(context.Background())
		require.NoError(t, err)
		require.Len(t, named, len(stuck))
		for _, one := range named {
			assert.True(t, stuck[one.Group])
			assert.Equal(t, protocol.StuckBehind, one.Why)
		}
		for i, node := range nodes {
			group := fmt.Sprint("g", i)
			want := 0
			if node == 0 && !lags(group) {
				want = 1
			}
			assert.EqualValues(t, want, paused[i].Load(), group)
		}
		f.write(&l, 1, lags)
		f.write(&l, 2, lags)
		require.NoError(t, f.hosts[0].DrainPatiently(context.Background()))
		f.assertMoved(nodes, terms, 1)
	})
}

// number is that of a group "g7".
func number(group string) (n int) {
	_, _ = fmt.Sscanf(group, "g%d", &n) // the fleet names them so
	return n
}

// Whatever else wants groups to move, the drain of n0 moves each of its groups once, and none comes back.
func TestADrainWinsOverWhatElseMovesGroups(t *testing.T) {
	for name, c := range map[string]struct {
		f       fleet
		prepare func(f *fleet)
	}{
		"n0 is preferred":             {fleet{group: func(_ int, c *elector.GroupConfig) { c.Preferred = []string{"n0"} }}, func(*fleet) {}},
		"it is drained twice at once": {fleet{}, func(f *fleet) { _ = f.begin(0) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := &c.f
			f.groups, f.timing = 300, elector.DefaultTiming()
			withFleetOf(t, f, func(f *fleet) {
				nodes, terms := f.leaders()
				before := f.ledBy()[0]
				require.NotZero(t, before)
				c.prepare(f)
				require.NoError(t, drain(f.hosts[0]))
				assert.Equal(t, before, f.elections(terms))
				for range 60 {
					<-time.After(time.Second)
					assert.Zero(t, f.ledBy()[0])
				}
				f.assertMoved(nodes, terms, 1)
			})
		})
	}
}

// The others give groups to n2 when its drain begins, and n1 learns late that it does not serve any more. It refuses them.
func TestNothingIsGivenToANodeThatIsTakenForServing(t *testing.T) {
	uneven(t, &fleet{groups: 600}, func(f *fleet) {
		_, terms := f.leaders()
		f.network.SetLink("n2", "n1", rpc.Link{Delay: 2 * f.timing.Heartbeat})
		<-time.After(f.timing.Detection())
		drained := f.begin(2)
		synctest.Wait()
		plan := f.plan(1)
		require.Len(t, plan.Shares, 1)
		require.Equal(t, "n2", plan.Shares[0].To)
		every := f.timing.Heartbeat / 2
		f.balance(every)
		for range 29 { // then groups may move on
			<-time.After(every)
			assert.Zero(t, f.ledBy()[2])
		}
		require.NoError(t, <-drained)
		assert.Zero(t, f.elections(terms), "nor has anything moved between the other two")
	})
}

// assertMovedOnce checks that no group was elected twice since these terms.
func (f *fleet) assertMovedOnce(terms []memberstate.Term) {
	f.t.Helper()
	_, in := f.leaders()
	for i := range in {
		assert.LessOrEqual(f.t, in[i], terms[i]+1, "g%d", i)
	}
}

// Two nodes drain at once. Each learns from the other in time, so that nothing goes from the one to the other.
func TestTwoNodesThatDrainAtOnceMoveNoGroupTwice(t *testing.T) {
	withFleetOf(t, &fleet{groups: 300, timing: elector.DefaultTiming()}, func(f *fleet) {
		led := f.ledBy()
		_, terms := f.leaders()
		first, second := f.begin(0), f.begin(1)
		require.NoError(t, <-first)
		require.NoError(t, <-second)
		assert.Equal(t, map[int]int{2: f.groups}, f.ledBy())
		assert.Equal(t, led[0]+led[1], f.elections(terms))
		<-time.After(time.Minute)
		assert.Equal(t, led[0]+led[1], f.elections(terms), "nothing comes back")
	})
}

// One node gives because it leads more than its share, and another one because it drains. Both give to n2, which does not give on.
func TestADrainAndBalanceAtTwoNodesMoveNoGroupTwice(t *testing.T) {
	uneven(t, &fleet{groups: 600}, func(f *fleet) {
		f.balance(time.Second)
		<-time.After(2 * time.Second)
		require.NotZero(t, f.ledBy()[2], "they balance")
		_, terms := f.leaders()
		require.NoError(t, drain(f.hosts[0]))
		for range 20 { // less than the rest of a group that was given
			<-time.After(time.Second)
			f.assertMovedOnce(terms)
			assert.Zero(t, f.ledBy()[0])
		}
	})
}

// Somebody else undrains the node half-way. The drain says so, what is left stays, and nothing is fetched back.
func TestAnUndrainHalfwayMovesNothingBack(t *testing.T) {
	withFleetOf(t, &fleet{groups: 1500, timing: elector.DefaultTiming()}, func(f *fleet) {
		nodes, terms := f.leaders()
		before := f.ledBy()[0]
		drained := f.begin(0)
		f.await("some are moved", func() bool { return f.hosts[0].Progress().Moved > 0 })
		require.NoError(t, f.hosts[0].Undrain())
		require.ErrorIs(t, <-drained, elector.ErrServing)
		<-time.After(time.Minute)
		led := f.ledBy()
		assert.Equal(t, f.groups, led[0]+led[1]+led[2])
		assert.Positive(t, led[0])
		assert.Less(t, led[0], before)
		assert.Equal(t, before-led[0], f.elections(terms), "each that has gone was elected once")
		still, _ := f.leaders()
		for i, node := range nodes {
			if node != 0 {
				assert.Equal(t, node, still[i], "g%d", i)
			}
		}
	})
}
