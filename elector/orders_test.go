// Whose order a handover is, and what the end of one caller's context changes: that
// caller's order, and nothing else.

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

// engineRoom has the engines of a town, whose ledgers and pauses can be held up.
type engineRoom struct {
	mu      sync.Mutex
	ledger  chan struct{} // LedgerEnd waits for it, if not nil
	pause   chan error    // Pause waits for it, if not nil
	asked   map[string]int
	pausing int // calls of Pause
	resumed int // of which so many were told that the handover is over
	words   int // messages about a handover that were sent
}

func (r *engineRoom) equip(c *config) {
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
				r.words++
			}
		}
	}}
}

// holdLedgers has every engine take its time to say where its ledger ends, until the
// channel is closed.
func (r *engineRoom) holdLedgers() (release chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger = make(chan struct{})
	return r.ledger
}

// holdPauses has every engine take its time to pause, until it is sent an outcome.
func (r *engineRoom) holdPauses() (release chan error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pause = make(chan error, 1)
	return r.pause
}

func (r *engineRoom) calls(id string) (asked, pausing int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[id], r.pausing
}

// read is one of the room's counts.
func (r *engineRoom) read(count *int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *count
}

// inEngineRoom plays a test in a town of three whose leader has just been found.
func inEngineRoom(t *testing.T, play func(town *town, room *engineRoom, leader *node)) {
	t.Helper()
	room := &engineRoom{asked: map[string]int{}}
	inTown(t, 3, room.equip, func(town *town) {
		leader := town.leader()
		town.pass(time.Second)
		play(town, room, leader)
	})
}

// call is an order that is waited for elsewhere.
type call struct {
	cancel  context.CancelFunc
	outcome chan error
}

func order(give func(ctx context.Context) error) *call {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{cancel, make(chan error, 1)}
	go func() { c.outcome <- give(ctx) }()
	synctest.Wait()
	return c
}

// answered is the outcome, which must be there by now.
func (c *call) answered(t *testing.T) error {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-c.outcome:
		return err
	default:
		t.Fatal("the caller still waits")
		return nil
	}
}

// orders are what a leader can be told.
func ordersTo(leader *node, to string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"transfer":           func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, "") },
		"transfer to a node": func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, to) },
		"resign":             leader.el.Resign,
	}
}

// leadsOn lets time pass, after which the leader must lead the term that it led.
func leadsOn(t *testing.T, town *town, leader *node, term memberstate.Term) {
	t.Helper()
	town.pass(2 * time.Second)
	s := leader.el.Status()
	assert.Equal(t, memberstate.Leader, s.Role)
	assert.Equal(t, term, s.Term)
}

func TestAContextThatHasEndedOrdersNothing(t *testing.T) {
	inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		term := leader.el.Status().Term
		before, _ := room.calls(leader.id)
		for name, give := range ordersTo(leader, town.others(leader)[0].id) {
			require.ErrorIs(t, give(ended), context.Canceled, name)
			leadsOn(t, town, leader, term)
		}
		after, pausing := room.calls(leader.id)
		assert.Equal(t, before, after, "the engine was asked where its ledger ends")
		assert.Zero(t, pausing)
	})
}

func TestAnOrderThatIsWithdrawnWhileTheLedgerIsAskedIsNotCarriedOut(t *testing.T) {
	inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
		term := leader.el.Status().Term
		for name, give := range ordersTo(leader, town.others(leader)[0].id) {
			release := room.holdLedgers()
			c := order(give)
			c.cancel()
			require.ErrorIs(t, c.answered(t), context.Canceled, name)
			close(release)
			leadsOn(t, town, leader, term)
			assert.Zero(t, room.read(&room.words), name)
		}
		require.NoError(t, leader.el.Resign(context.Background()), "what was withdrawn stands in nobody's way")
	})
}

func TestAnOrderThatIsWithdrawnWhileItIsCarriedOutEndsItsHandover(t *testing.T) {
	inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
		term := leader.el.Status().Term
		for name, give := range ordersTo(leader, town.others(leader)[0].id) {
			_, before := room.calls(leader.id)
			room.holdPauses()
			c := order(give)
			town.pass(10 * time.Millisecond)
			_, after := room.calls(leader.id)
			require.Equal(t, before+1, after, "%s: it has come as far as that", name)
			c.cancel()
			require.ErrorIs(t, c.answered(t), context.Canceled, name)
			assert.Equal(t, after, room.read(&room.resumed), "%s: writes go on at once", name)
			leadsOn(t, town, leader, term)
		}
	})
}

// A handover that one has ordered and another wants goes on where it is, though for a
// moment, in the midst of a step, nobody wanted it.
func TestAHandoverThatIsWantedIsNotBegunAnew(t *testing.T) {
	inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
		pauses := room.holdPauses()
		first := order(func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, "") })
		town.pass(10 * time.Millisecond)
		ledgers := room.holdLedgers()
		pauses <- nil // and now it is asked where the ledger ends
		synctest.Wait()
		first.cancel()
		require.ErrorIs(t, first.answered(t), context.Canceled)
		second := order(leader.el.Resign)
		close(ledgers)
		synctest.Wait()
		assert.Zero(t, room.read(&room.resumed), "it was given up")
		town.pass(10 * time.Millisecond)
		require.NoError(t, second.answered(t))
		assert.Equal(t, 1, room.read(&room.pausing))
	})
}

// An orderly Stop hands over, whoever else had ordered a handover and lost interest.
func TestAStopHandsOverThoughAnotherOrderIsWithdrawn(t *testing.T) {
	for _, name := range []string{"transfer", "transfer to a node", "resign"} {
		for _, first := range []string{"the order", "the stop"} {
			t.Run(name+", "+first+" is first", func(t *testing.T) {
				inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
					heir := town.others(leader)[0]
					give := ordersTo(leader, heir.id)[name]
					release := room.holdPauses()
					var withdrawn *call
					if first == "the order" {
						withdrawn = order(give)
						town.pass(10 * time.Millisecond)
					}
					leader.stop()
					leader.stop = nil
					town.pass(10 * time.Millisecond)
					if first == "the stop" {
						withdrawn = order(give)
					}
					withdrawn.cancel()
					assert.Error(t, withdrawn.answered(t))
					release <- nil
					require.NoError(t, <-leader.err)
					town.pass(10 * time.Millisecond)
					assert.Equal(t, heir, town.settled(), "it left without having handed over")
				})
			})
		}
	}
}

// Of two who want a handover one withdraws. If the handover fails then, that has the
// consequence that the other one asked for.
func TestTheOrderThatStandsSaysWhatBecomesOfTheHandover(t *testing.T) {
	failed := errors.New("writes go on")
	play := func(t *testing.T, late, leads bool, withdraw func(transfer, resign *call) (rest *call)) error {
		t.Helper()
		var err error
		inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
			term := leader.el.Status().Term
			ledgers, pauses := room.holdLedgers(), room.holdPauses()
			orders := ordersTo(leader, town.others(leader)[0].id)
			transfer := order(orders["transfer to a node"])
			if late {
				close(ledgers)
				town.pass(10 * time.Millisecond)
			}
			rest := withdraw(transfer, order(orders["resign"]))
			if !late {
				close(ledgers)
				town.pass(10 * time.Millisecond)
			}
			pauses <- failed
			err = rest.answered(t)
			s := leader.el.Status()
			assert.Equal(t, leads, s.Role == memberstate.Leader)
			assert.Equal(t, term, s.Term)
		})
		return err
	}
	for name, late := range map[string]bool{"before it has begun": false, "in its midst": true} {
		t.Run("the resignation is withdrawn "+name, func(t *testing.T) {
			err := play(t, late, true, func(transfer, resign *call) *call {
				resign.cancel()
				require.ErrorIs(t, resign.answered(t), context.Canceled)
				return transfer
			})
			assert.ErrorIs(t, err, elector.ErrTransferFailed)
		})
		t.Run("the transfer is withdrawn "+name, func(t *testing.T) {
			err := play(t, late, false, func(transfer, resign *call) *call {
				transfer.cancel()
				require.ErrorIs(t, transfer.answered(t), context.Canceled)
				return resign
			})
			assert.NoError(t, err)
		})
	}
}

// An offer to a preferred leader is nobody's order, and nobody's to withdraw.
func TestAnOfferToAPreferredLeaderOutlivesAnOrder(t *testing.T) {
	room := &engineRoom{asked: map[string]int{}}
	synctest.Test(t, func(t *testing.T) {
		town := newTown(t, 3, func(c *config) {
			room.equip(c)
			c.Preferred = []string{"n0"}
		})
		town.start("n1")
		town.start("n2")
		defer town.close()
		leader := town.leader()
		release := room.holdPauses()
		town.start("n0")
		for _, pausing := room.calls(""); pausing == 0; _, pausing = room.calls("") {
			town.pass(time.Millisecond)
		}
		c := order(leader.el.Resign)
		c.cancel()
		require.ErrorIs(t, c.answered(t), context.Canceled)
		release <- nil
		town.pass(10 * time.Millisecond)
		assert.Equal(t, memberstate.Leader, town.nodes["n0"].el.Status().Role)
	})
}

func TestOneTransferAtATimeFromItsFirstMoment(t *testing.T) {
	inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
		others := town.others(leader)
		release := room.holdLedgers()
		c := order(func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, others[0].id) })
		require.ErrorIs(t, leader.el.TransferLeadership(context.Background(), others[1].id), elector.ErrTransferInProgress)
		close(release)
		town.pass(time.Second)
		require.NoError(t, c.answered(t))
		assert.Equal(t, others[0], town.leader())
	})
}

// The step that an order began ends when the ledger has been asked. What the member does
// next is of its own accord, and asks the ledger again: nobody has withdrawn that.
func TestAMemberResignsThoughAnOrderWasWithdrawnWhileTheLedgerIsAsked(t *testing.T) {
	inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
		ledgers := room.holdLedgers()
		withdrawn := order(leader.el.Resign)
		withdrawn.cancel()
		require.ErrorIs(t, withdrawn.answered(t), context.Canceled)
		leader.stop()
		leader.stop = nil
		synctest.Wait()
		close(ledgers)
		town.pass(time.Second)
		select {
		case err := <-leader.err:
			require.NoError(t, err)
			assert.Contains(t, town.others(leader), town.settled())
		default:
			t.Error("it does not stop")
			require.NoError(t, leader.el.Resign(context.Background()))
		}
	})
}

// A leader that was deposed before its turn came to carry out an order has handed over,
// if to whom it was told to.
func TestAnOrderIsForTheTermInWhichItWasGiven(t *testing.T) {
	inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
		heir := town.others(leader)[0]
		members, err := memberstate.NewMembers(memberstate.Voters(town.ids...))
		require.NoError(t, err)
		ledgers := room.holdLedgers()
		withdrawn := order(leader.el.Resign) // the ledger is asked for it, and all else waits
		withdrawn.cancel()
		require.ErrorIs(t, withdrawn.answered(t), context.Canceled)
		for range 2 { // the first is answered that it was not ready
			leader.el.Host().Receive([]rpc.Message{{
				Group: "g", From: heir.id, To: leader.id, Leader: heir.id, Voters: members.Digest(),
				Body: rpc.Body{Kind: rpc.Heartbeat, Term: leader.el.Status().Term + 1, Round: 1},
			}})
		}
		c := order(func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, heir.id) })
		close(ledgers)
		require.NoError(t, c.answered(t))
	})
}

// Who waits for an order hears of the end of the member.
func TestAnOrderEndsWithTheMember(t *testing.T) {
	inEngineRoom(t, func(_ *town, room *engineRoom, leader *node) {
		room.holdPauses()
		c := order(leader.el.Resign)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, leader.el.Stop(ended))
		leader.stop = nil
		err := c.answered(t)
		require.ErrorIs(t, err, elector.ErrStopped)
		assert.ErrorContains(t, err, "has stopped")
	})
}

// A group has a host's last loop to itself, and takes orders until it has ended.
func TestNobodyWaitsForAHostWithoutGroups(t *testing.T) {
	for range 200 {
		el := joinAlone(t)
		var calls sync.WaitGroup
		calls.Go(func() { assert.NoError(t, el.Stop(t.Context())) })
		calls.Go(func() { _ = el.Resign(t.Context()) })
		calls.Go(func() { _ = el.Heard(5, "n1") })
		calls.Wait()
	}
}

// joinAlone is a member of two that is started, and has no leader.
func joinAlone(t *testing.T) *elector.Elector {
	t.Helper()
	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
	require.NoError(t, err)
	el := join(t, host, "g", "n0", "n1")
	require.NoError(t, el.Start())
	return el
}

// The context of an order may end when the order has just been carried out, and nobody has come
// to say so yet.
func TestAnOrderThatWasCarriedOutIsNotReportedAsWithdrawn(t *testing.T) {
	var impatient atomic.Pointer[call]
	inTown(t, 3, func(c *config) {
		c.Metrics = &elector.Metrics{Changed: func(s elector.Status) {
			if given := impatient.Load(); given != nil && s.LastLeader == s.Self && s.Vote != s.Self { // its heir has its vote
				given.cancel()
				<-time.After(time.Millisecond) // whoever gave the order sees it meanwhile
			}
		}}
	}, func(town *town) {
		leader := town.leader()
		town.pass(time.Second)
		ctx, cancel := context.WithCancel(context.Background())
		given := &call{cancel, make(chan error, 1)}
		impatient.Store(given)
		go func() { given.outcome <- leader.el.Resign(ctx) }()
		town.pass(time.Second)
		require.Error(t, ctx.Err())
		require.NoError(t, given.answered(t))
		assert.NotEqual(t, leader, town.leader())
	})
}

// Two orders of one kind are two: each waits for its own outcome, though the first has not begun.
func TestOrdersThatWaitAreToldOneByOne(t *testing.T) {
	inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
		ledgers := room.holdLedgers()
		withdrawn := order(leader.el.Resign) // the ledger is asked for it, and all else waits
		withdrawn.cancel()
		first, second := order(leader.el.Resign), order(leader.el.Resign)
		close(ledgers)
		town.pass(time.Minute)
		require.NoError(t, first.answered(t))
		require.NoError(t, second.answered(t))
	})
}
