// Orders to hand over: each belongs to one caller, and the end of that caller's context
// withdraws that order only.

package elector_test

import (
	"context"
	"errors"
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

// engines are the engines of a cluster. A test can block their LedgerEnd and their Pause, and the loop of a node.
type engines struct {
	mu      sync.Mutex
	ledger  chan struct{}  // LedgerEnd waits for it, if not nil
	pause   chan error     // Pause waits for it, if not nil
	loop    chan struct{}  // a loop that drops a message waits for it, if not nil
	asked   map[string]int // calls of LedgerEnd, by node
	pausing int            // calls of Pause
	resumed int            // calls of Pause whose context has ended
	offers  int            // messages about a handover that were sent
}

func (r *engines) configure(c *config) {
	c.LedgerEnd = func(memberstate.Term) memberstate.Position {
		r.mu.Lock()
		r.asked[c.Self]++
		held := r.ledger
		r.mu.Unlock()
		if held != nil {
			<-held
		}
		return memberstate.Position{}
	}
	c.Pause = func(ctx context.Context, _ memberstate.Term) error {
		r.mu.Lock()
		r.pausing++
		held := r.pause
		r.mu.Unlock()
		context.AfterFunc(ctx, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.resumed++
		})
		if held == nil {
			return nil
		}
		select {
		case err := <-held:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.Metrics = &elector.Metrics{Sent: func(_ string, batch []rpc.Message) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i := range batch {
			if batch[i].Kind == rpc.TakeLeadership {
				r.offers++
			}
		}
	}, Dropped: func(elector.Drop, int) {
		r.mu.Lock()
		held := r.loop
		r.mu.Unlock()
		if held != nil {
			<-held
		}
	}}
}

// holdLoop blocks the loop of a node until the channel is closed: a function of Metrics waits, which it should not do.
func (r *engines) holdLoop(n *node) (release chan struct{}) {
	release = make(chan struct{})
	r.mu.Lock()
	r.loop = release
	r.mu.Unlock()
	n.el.Host().Receive(make([]rpc.Message, 1)) // of no group
	synctest.Wait()
	return release
}

// holdLedgers blocks LedgerEnd at every node until the channel is closed.
func (r *engines) holdLedgers() (release chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger = make(chan struct{})
	return r.ledger
}

// holdPauses blocks each call of Pause until the channel sends it an outcome.
func (r *engines) holdPauses() (release chan error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pause = make(chan error, 1)
	return r.pause
}

func (r *engines) calls(id string) (asked, pausing int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[id], r.pausing
}

// read reads one of the counts.
func (r *engines) read(count *int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *count
}

// withEngines plays a test in a cluster of three that has a leader.
func withEngines(t *testing.T, play func(cluster *cluster, engines *engines, leader *node)) {
	t.Helper()
	engines := &engines{asked: map[string]int{}}
	withCluster(t, 3, engines.configure, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		cluster.pass(time.Second)
		play(cluster, engines, leader)
	})
}

// ordersTo are all orders that a leader can be given.
func ordersTo(leader *node, to string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"transfer":           func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, "") },
		"transfer to a node": func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, to) },
		"resign":             leader.el.Resign,
	}
}

// leadsOn lets time pass, after which the leader must still lead this term.
func leadsOn(t *testing.T, cluster *cluster, leader *node, term memberstate.Term) {
	t.Helper()
	cluster.pass(2 * time.Second)
	s := leader.el.Status()
	assert.Equal(t, memberstate.Leader, s.Role)
	assert.Equal(t, term, s.Term)
}

func TestAContextThatHasEndedOrdersNothing(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		term := leader.el.Status().Term
		before, _ := engines.calls(leader.id)
		for name, give := range ordersTo(leader, cluster.others(leader)[0].id) {
			require.ErrorIs(t, give(endedContext()), context.Canceled, name)
			leadsOn(t, cluster, leader, term)
		}
		after, pausing := engines.calls(leader.id)
		assert.Equal(t, before, after, "LedgerEnd was called")
		assert.Zero(t, pausing)
	})
}

func TestAnOrderThatIsWithdrawnWhileTheLedgerIsAskedIsNotCarriedOut(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		term := leader.el.Status().Term
		for name, give := range ordersTo(leader, cluster.others(leader)[0].id) {
			release := engines.holdLedgers()
			order(give).withdraw(t, name)
			close(release)
			leadsOn(t, cluster, leader, term)
			assert.Zero(t, engines.read(&engines.offers), name)
		}
		require.NoError(t, leader.el.Resign(context.Background()), "orders that were withdrawn prevent no other")
	})
}

func TestAnOrderThatIsWithdrawnWhileItIsCarriedOutEndsItsHandover(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		term := leader.el.Status().Term
		for name, give := range ordersTo(leader, cluster.others(leader)[0].id) {
			_, before := engines.calls(leader.id)
			engines.holdPauses()
			c := order(give)
			cluster.pass(10 * time.Millisecond)
			_, after := engines.calls(leader.id)
			require.Equal(t, before+1, after, "%s: Pause was not called", name)
			c.withdraw(t, name)
			assert.Equal(t, after, engines.read(&engines.resumed), "%s: writes go on at once", name)
			leadsOn(t, cluster, leader, term)
		}
	})
}

// While LedgerEnd runs, the only order is withdrawn and another is given. So for a moment no
// caller wants the handover, but it is not given up.
func TestAHandoverThatIsStillWantedIsNotBegunAnew(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		pauses := engines.holdPauses()
		first := transfer(leader, "")
		cluster.pass(10 * time.Millisecond)
		ledgers := engines.holdLedgers()
		pauses <- nil // now LedgerEnd is called
		synctest.Wait()
		first.withdraw(t)
		second := order(leader.el.Resign)
		close(ledgers)
		synctest.Wait()
		assert.Zero(t, engines.read(&engines.resumed), "it was given up")
		cluster.pass(10 * time.Millisecond)
		require.NoError(t, second.answered(t))
		assert.Equal(t, 1, engines.read(&engines.pausing))
	})
}

func TestStopHandsOverAlthoughAnotherOrderIsWithdrawn(t *testing.T) {
	for _, name := range []string{"transfer", "transfer to a node", "resign"} {
		for _, first := range []string{"the order", "the stop"} {
			t.Run(name+", "+first+" is first", func(t *testing.T) {
				withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
					heir := cluster.others(leader)[0]
					give := ordersTo(leader, heir.id)[name]
					release := engines.holdPauses()
					var withdrawn *call
					if first == "the order" {
						withdrawn = order(give)
						cluster.pass(10 * time.Millisecond)
					}
					cluster.beginStop(leader)
					cluster.pass(10 * time.Millisecond)
					if first == "the stop" {
						withdrawn = order(give)
					}
					withdrawn.cancel()
					assert.Error(t, withdrawn.answered(t))
					release <- nil
					require.NoError(t, <-leader.err)
					cluster.pass(10 * time.Millisecond)
					assert.Equal(t, heir, cluster.agreedLeader(), "it left without a handover")
				})
			})
		}
	}
}

// Two callers want a handover, and one withdraws. If the handover then fails, the outcome is that
// of the other's order: a leader that was to resign steps down, one that was to transfer leads on.
func TestTheRemainingOrderDecidesTheOutcomeOfTheHandover(t *testing.T) {
	failed := errors.New("writes go on")
	play := func(t *testing.T, late, leads bool, withdraw func(transfer, resign *call) (rest *call)) error {
		t.Helper()
		var err error
		withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
			term := leader.el.Status().Term
			ledgers, pauses := engines.holdLedgers(), engines.holdPauses()
			orders := ordersTo(leader, cluster.others(leader)[0].id)
			transfer := order(orders["transfer to a node"])
			if late {
				close(ledgers)
				cluster.pass(10 * time.Millisecond)
			}
			rest := withdraw(transfer, order(orders["resign"]))
			if !late {
				close(ledgers)
				cluster.pass(10 * time.Millisecond)
			}
			pauses <- failed
			err = rest.answered(t)
			s := leader.el.Status()
			assert.Equal(t, leads, s.Role == memberstate.Leader)
			assert.Equal(t, term, s.Term)
		})
		return err
	}
	for name, late := range map[string]bool{"before the handover has begun": false, "during the handover": true} {
		t.Run("the resignation is withdrawn "+name, func(t *testing.T) {
			err := play(t, late, true, func(transfer, resign *call) *call {
				resign.withdraw(t)
				return transfer
			})
			assert.ErrorIs(t, err, elector.ErrTransferFailed)
		})
		t.Run("the transfer is withdrawn "+name, func(t *testing.T) {
			err := play(t, late, false, func(transfer, resign *call) *call {
				transfer.withdraw(t)
				return resign
			})
			assert.NoError(t, err)
		})
	}
}

// The leader offers a preferred voter the leadership on its own, so no order withdraws the offer.
func TestAnOfferToAPreferredLeaderOutlivesAnOrder(t *testing.T) {
	engines := &engines{asked: map[string]int{}}
	withNewCluster(t, 3, func(c *config) {
		engines.configure(c)
		c.Preferred = []string{"n0"}
	}, func(cluster *cluster) {
		cluster.start("n1")
		cluster.start("n2")
		leader := cluster.awaitLeader()
		release := engines.holdPauses()
		cluster.start("n0")
		for engines.read(&engines.pausing) == 0 {
			cluster.pass(time.Millisecond)
		}
		order(leader.el.Resign).withdraw(t)
		release <- nil
		cluster.pass(10 * time.Millisecond)
		assert.Equal(t, memberstate.Leader, cluster.nodes["n0"].el.Status().Role)
	})
}

func TestASecondTransferIsRefusedFromTheBeginningOfTheFirst(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		others := cluster.others(leader)
		release := engines.holdLedgers()
		c := transfer(leader, others[0].id)
		require.ErrorIs(t, leader.el.TransferLeadership(context.Background(), others[1].id), elector.ErrTransferInProgress)
		close(release)
		cluster.pass(time.Second)
		require.NoError(t, c.answered(t))
		assert.Equal(t, others[0], cluster.awaitLeader())
	})
}

// The step of the withdrawn order ends when LedgerEnd returns. The resignation for Stop is another
// step, which calls LedgerEnd again.
func TestAMemberResignsAlthoughAnOrderWasWithdrawnDuringLedgerEnd(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		ledgers := engines.holdLedgers()
		order(leader.el.Resign).withdraw(t)
		cluster.beginStop(leader)
		synctest.Wait()
		close(ledgers)
		cluster.pass(time.Second)
		select {
		case err := <-leader.err:
			require.NoError(t, err)
			assert.Contains(t, cluster.others(leader), cluster.agreedLeader())
		default:
			t.Error("it does not stop")
			require.NoError(t, leader.el.Resign(context.Background()))
		}
	})
}

// If the target of a transfer deposes the leader before the order's turn comes, the transfer has
// succeeded.
func TestAnOrderIsForTheTermInWhichItWasGiven(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		heir := cluster.others(leader)[0]
		ledgers := engines.holdLedgers()
		order(leader.el.Resign).withdraw(t) // it has called LedgerEnd, and all other input waits
		for range 2 {                       // the first only raises the term
			leader.el.Host().Receive([]rpc.Message{heartbeat(t, heir.id, leader.id, leader.el.Status().Term+1)})
		}
		c := transfer(leader, heir.id)
		close(ledgers)
		require.NoError(t, c.answered(t))
	})
}

func TestAnOrderEndsWithTheMember(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		engines.holdPauses()
		c := order(leader.el.Resign)
		cluster.kill(leader)
		err := c.answered(t)
		require.ErrorIs(t, err, elector.ErrStopped)
		assert.ErrorContains(t, err, "has stopped")
	})
}

// Orders may come while the host's last group, and with it the loop, ends.
func TestNoOrderWaitsForAHostWithoutGroups(t *testing.T) {
	for range 200 {
		el := join(t, elector.IsolatedHost(t, new(memberstate.MemStore)), "g", "n0", "n1")
		require.NoError(t, el.Start())
		var calls sync.WaitGroup
		calls.Go(func() { assert.NoError(t, el.Stop(t.Context())) })
		calls.Go(func() { _ = el.Resign(t.Context()) })
		calls.Go(func() { _ = el.Heard(5, "n1") })
		calls.Wait()
	}
}

// The context of an order may end when the order has just been carried out, but has not returned.
func TestAnOrderThatWasCarriedOutIsNotReportedAsWithdrawn(t *testing.T) {
	var impatient atomic.Pointer[call]
	withCluster(t, 3, func(c *config) {
		c.Metrics = &elector.Metrics{Changed: func(s elector.Status) {
			if given := impatient.Load(); given != nil && s.LastLeader == s.Self && s.Vote != s.Self { // its heir has its vote
				given.cancel()
				<-time.After(time.Millisecond) // meanwhile the caller sees it
			}
		}}
	}, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		cluster.pass(time.Second)
		ctx, cancel := context.WithCancel(context.Background())
		given := &call{cancel, make(chan error, 1)}
		impatient.Store(given)
		go func() { given.outcome <- leader.el.Resign(ctx) }()
		cluster.pass(time.Second)
		require.Error(t, ctx.Err())
		require.NoError(t, given.answered(t))
		assert.NotEqual(t, leader, cluster.awaitLeader())
	})
}

// Two callers may have one context. Each withdraws its own order.
func TestOrdersThatAreWithdrawnInOneTurnAreAllWithdrawn(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		term := leader.el.Status().Term
		ctx, cancel := context.WithCancelCause(context.Background())
		resign := func(context.Context) error { return leader.el.Resign(ctx) }
		ledgers := engines.holdLedgers()
		first, second := order(resign), order(resign)
		loop := engines.holdLoop(leader)
		cancel(assert.AnError) // the error is the context's all the same
		synctest.Wait()
		close(loop)
		synctest.Wait()
		close(ledgers)
		require.ErrorIs(t, first.answered(t), context.Canceled)
		require.ErrorIs(t, second.answered(t), context.Canceled)
		leadsOn(t, cluster, leader, term)
	})
}

// The later one counts, and both callers are answered.
func TestChangesInOneTurnAreAllMade(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		el, others := leader.el, cluster.others(leader)
		lastChoice := func() any {
			report, err := el.Report(context.Background())
			require.NoError(t, err)
			return report.LastChoice
		}
		electable := func(may bool) func() error { return func() error { return el.Electable(may) } }
		timing := func(timing elector.Timing) func() error { return func() error { return el.SetTiming(timing) } }
		preferred := func(n *node) func() error { return func() error { return el.SetPreferred(n.id) } }
		weight := func(weight int) func() error { return func() error { return el.SetWeight(weight) } }
		for _, c := range []struct {
			what          string
			first, second func() error
			shown         func() any
			want          any
		}{
			{"weight", weight(2), weight(3), func() any { return el.Host().Progress().Weight }, 3},
			{"timing", timing(slow()), timing(elector.DefaultTiming()), func() any { return el.Timing() }, elector.DefaultTiming()},
			{"preferred", preferred(others[0]), preferred(leader), func() any { return el.Preferred() }, []string{leader.id}},
			{"electable", electable(false), electable(true), lastChoice, false},
			{"not electable", electable(true), electable(false), lastChoice, true},
		} {
			loop := engines.holdLoop(leader)
			first := order(func(context.Context) error { return c.first() })
			second := order(func(context.Context) error { return c.second() })
			close(loop)
			require.NoError(t, first.answered(t), c.what)
			require.NoError(t, second.answered(t), c.what)
			assert.Equal(t, c.want, c.shown(), c.what)
		}
	})
}

// Requests of other kinds are merged while they wait; orders are not.
func TestEachOfTwoEqualOrdersGetsItsOutcome(t *testing.T) {
	withEngines(t, func(cluster *cluster, engines *engines, leader *node) {
		ledgers := engines.holdLedgers()
		order(leader.el.Resign).cancel() // it has called LedgerEnd, and all other input waits
		first, second := order(leader.el.Resign), order(leader.el.Resign)
		close(ledgers)
		cluster.pass(time.Minute)
		require.NoError(t, first.answered(t))
		require.NoError(t, second.answered(t))
	})
}
