// What operators are promised of a member, a check each: of resigning, transferring, stopping,
// of what is shown, and of the engine's callbacks.

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

// overheard is what the members of a town have sent, under a lock.
type overheard struct {
	mu    sync.Mutex
	asked map[string]int // requests for votes, by who asked
	heirs map[string]int // what was said about a handover, by who is to lead
	takes func()         // called when an heir asks for votes
}

func overhear(c *config, o *overheard) {
	c.Metrics = &elector.Metrics{Sent: func(_ string, batch []rpc.Message) {
		o.mu.Lock()
		defer o.mu.Unlock()
		for i := range batch {
			switch batch[i].Kind {
			case rpc.VoteRequest:
				o.asked[c.Self]++
				if o.takes != nil && batch[i].Mark == rpc.Handed {
					o.takes()
				}
			case rpc.TakeLeadership:
				o.heirs[batch[i].Leader]++
			default: // nobody asks
			}
		}
	}}
}

// forget begins to count anew.
func (o *overheard) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked, o.heirs = map[string]int{}, map[string]int{}
}

// told is what was said of heirs so far.
func (o *overheard) told() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.heirs)
}

func inOverheardTown(t *testing.T, change func(*config), play func(*town, *overheard)) {
	t.Helper()
	o := &overheard{}
	o.forget()
	inTown(t, 3, func(c *config) {
		overhear(c, o)
		if change != nil {
			change(c)
		}
	}, func(town *town) { play(town, o) })
}

// A leader that resigned though nobody took over leaves it to the others for two detection
// times, even if nobody else can be elected.
func TestALeaderThatResignedRests(t *testing.T) {
	inOverheardTown(t, nil, func(town *town, o *overheard) {
		first := town.leader()
		for _, n := range town.others(first) { // they hear it, and it does not hear them
			town.network.SetLink(n.id, first.id, rpc.Link{Cut: true})
		}
		others := town.others(first)
		town.network.SetLink(others[0].id, others[1].id, rpc.Link{Cut: true})
		town.network.SetLink(others[1].id, others[0].id, rpc.Link{Cut: true})
		require.NoError(t, first.el.Resign(context.Background()))
		assert.NotEqual(t, memberstate.Leader, first.el.Status().Role)
		o.forget()
		town.pass(2*elector.DefaultTiming().Detection() - time.Millisecond)
		o.mu.Lock()
		assert.Zero(t, o.asked[first.id], "it stood again at once")
		assert.Positive(t, o.asked[others[0].id]+o.asked[others[1].id], "the others did not try, and this shows nothing")
		o.mu.Unlock()
		town.pass(10 * elector.DefaultTiming().Detection())
		o.mu.Lock()
		assert.Positive(t, o.asked[first.id], "it rests for ever")
		o.mu.Unlock()
		town.network.SetAll(rpc.Link{Delay: time.Millisecond})
	})
}

// The leadership is offered to the voter that was named, and to no other, even if that
// one cannot take it.
func TestTheHeirThatWasNamedAndNoOther(t *testing.T) {
	inOverheardTown(t, nil, func(town *town, o *overheard) {
		for range 3 {
			leader := town.leader()
			for _, heir := range town.others(leader) {
				town.leader()
				if leader.el.Status().Role != memberstate.Leader {
					require.NoError(t, town.leader().el.TransferLeadership(context.Background(), leader.id))
					town.leader()
				}
				o.forget()
				require.NoError(t, leader.el.TransferLeadership(context.Background(), heir.id))
				assert.Equal(t, heir, town.leader())
				told := o.told()
				assert.Len(t, told, 1)
				assert.Positive(t, told[heir.id])
			}
		}
		leader := town.leader()
		heir := town.others(leader)[0]
		town.network.SetLink(leader.id, heir.id, rpc.Link{Cut: true})
		o.forget()
		require.ErrorIs(t, leader.el.TransferLeadership(context.Background(), heir.id), elector.ErrTransferFailed)
		assert.Zero(t, o.told()[town.others(leader)[1].id], "another was offered the leadership")
		assert.Equal(t, memberstate.Leader, leader.el.Status().Role, "it goes on leading")
		town.network.SetAll(rpc.Link{Delay: time.Millisecond})
	})
}

// Whatever somebody has called ends when the group does, whoever's context goes on.
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
				ended, cancel := context.WithCancel(context.Background())
				cancel()
				stopped := order(func(context.Context) error { return el.Stop(ended) })
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

// An order waits for a successor that never shows, until the member is stopped.
func TestATransferEndsWithTheMember(t *testing.T) {
	inEngineRoom(t, func(_ *town, room *engineRoom, leader *node) {
		room.holdPauses()
		c := order(func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, "") })
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, leader.el.Stop(ended))
		leader.stop = nil
		require.ErrorIs(t, c.answered(t), elector.ErrStopped)
		assert.Equal(t, room.read(&room.pausing), room.read(&room.resumed), "Pause's context has ended")
	})
}

// Stop, and Run, return when nothing of the engine's runs any more: not before, and not later.
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
				synctest.Test(t, func(t *testing.T) {
					held := make(chan struct{})
					town := newTown(t, 3, func(c *config) { hold(c, held) })
					town.open()
					defer town.close()
					leader := town.leader()
					order(func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, town.others(leader)[0].id) })
					town.pass(10 * time.Millisecond) // Pause, or what follows it, is called
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					if hurry {
						cancel()
					}
					stopped := order(func(context.Context) error { return leader.el.Stop(ctx) })
					town.pass(time.Minute)
					select {
					case err := <-stopped.outcome:
						t.Error("it did not wait", err)
					case <-leader.el.Done():
						t.Error("it is done, and something of the engine's runs")
					default:
					}
					close(held)
					require.NoError(t, stopped.answered(t))
				})
			})
		}
	}
}

// holdingHandler is busy in Shutdown until it is let go.
type holdingHandler struct{ held <-chan struct{} }

func (*holdingHandler) Startup()              {}
func (*holdingHandler) Handle(elector.Status) {}
func (h *holdingHandler) Shutdown()           { <-h.held }

// A leader that hears of a larger term leads no more, shows it, and has told its Lead,
// before its disk has taken the term.
func TestALossIsShownBeforeTheDiskIsWaitedFor(t *testing.T) {
	stores := map[string]*gatedStore{}
	inTown(t, 3, func(c *config) {
		stores[c.Self] = new(gatedStore)
		c.Store = stores[c.Self]
	}, func(town *town) {
		leader := town.leader()
		heir := town.others(leader)[0]
		gate := make(chan error)
		stores[leader.id].gate = gate
		members, err := memberstate.NewMembers(memberstate.Voters(town.ids...))
		require.NoError(t, err)
		leader.el.Host().Receive([]rpc.Message{{
			Group: "g", From: heir.id, To: leader.id, Leader: heir.id, Voters: members.Digest(),
			Body: rpc.Body{Kind: rpc.Heartbeat, Term: leader.el.Status().Term + 1, Round: 1},
		}})
		synctest.Wait()
		assert.NotEqual(t, memberstate.Leader, leader.el.Status().Role)
		town.offices.mu.Lock()
		assert.NotContains(t, town.offices.serving, leader.id, "its Lead goes on")
		town.offices.mu.Unlock()
		close(gate)
		town.leader()
	})
}

// A lease that is shown has not run out: not for an observer that looks at every moment, not
// in its last nanosecond; and it is gone for good.
func TestALeaseIsNotShownAfterItsEnd(t *testing.T) {
	inTown(t, 3, func(c *config) { c.Leases = true }, func(town *town) {
		leader := town.leader()
		town.pass(time.Second)
		town.cut(leader.id, true)
		_, until, ok := leader.el.Lease()
		require.True(t, ok)
		for ok {
			left := time.Until(until)
			require.Positive(t, left)
			<-time.After(min(left, 5*time.Millisecond))
			_, until, ok = leader.el.Lease()
		}
		town.pass(time.Second)
		_, _, ok = leader.el.Lease()
		assert.False(t, ok)
		town.cut(leader.id, false)
	})
}

// A lease that was given back is not shown: from the moment at which the heir is told to take
// over, and after Resign and Stop have returned.
func TestALeaseIsNotShownAfterItWasGivenBack(t *testing.T) {
	var offered atomic.Int32
	inOverheardTown(t, func(c *config) { c.Leases = true }, func(town *town, o *overheard) {
		o.mu.Lock()
		o.takes = func() {
			offered.Add(1)
			for _, n := range town.nodes {
				_, _, ok := n.el.Lease()
				assert.False(t, ok, "the heir asks for votes, and a lease is shown")
			}
		}
		o.mu.Unlock()
		gone := func(n *node) {
			t.Helper()
			_, _, ok := n.el.Lease()
			assert.False(t, ok)
		}
		held := func() *node {
			t.Helper()
			leader := town.leader()
			town.pass(time.Second)
			_, _, ok := leader.el.Lease()
			require.True(t, ok)
			return leader
		}
		leader := held()
		require.NoError(t, leader.el.TransferLeadership(context.Background(), ""))
		gone(leader)
		leader = held()
		require.NoError(t, leader.el.Resign(context.Background()))
		gone(leader)
		leader = held()
		require.NoError(t, leader.el.Stop(context.Background()))
		gone(leader)
		require.NoError(t, town.end(leader))
	})
	assert.Positive(t, offered.Load())
}

// Pause's context ends, however the handover does, so that writes go on if they may.
func TestThePausesContextEnds(t *testing.T) {
	failed := func(after func(town *town, leader *node)) func(*testing.T, *town, *engineRoom, *node) {
		return func(t *testing.T, town *town, room *engineRoom, leader *node) {
			t.Helper()
			release := room.holdPauses()
			c := order(func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, town.others(leader)[0].id) })
			town.pass(10 * time.Millisecond)
			after(town, leader)
			release <- nil
			town.pass(5 * time.Second)
			require.ErrorIs(t, c.answered(t), elector.ErrTransferFailed)
			town.network.SetAll(rpc.Link{Delay: time.Millisecond})
		}
	}
	for name, ends := range map[string]func(*testing.T, *town, *engineRoom, *node){
		"it succeeds": func(t *testing.T, _ *town, _ *engineRoom, leader *node) {
			t.Helper()
			require.NoError(t, leader.el.TransferLeadership(context.Background(), ""))
		},
		"the heir is gone": failed(func(town *town, leader *node) { town.cut(town.others(leader)[0].id, true) }),
		"everybody is":     failed(func(town *town, leader *node) { town.cut(leader.id, true) }),
		"it is stopped": func(t *testing.T, town *town, _ *engineRoom, leader *node) {
			t.Helper()
			require.NoError(t, town.end(leader))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inEngineRoom(t, func(town *town, room *engineRoom, leader *node) {
				ends(t, town, room, leader)
				town.pass(5 * time.Second)
				assert.Positive(t, room.read(&room.pausing))
				assert.Equal(t, room.read(&room.pausing), room.read(&room.resumed))
			})
		})
	}
}

// A Lead that returns gives the office up, with an error or without, and its member rests.
func TestALeadThatReturnsGivesUpTheOffice(t *testing.T) {
	for name, problem := range map[string]error{"with an error": assert.AnError, "without one": nil} {
		t.Run(name, func(t *testing.T) {
			inTown(t, 3, func(c *config) {
				lead := c.Lead
				c.Lead = func(ctx context.Context, term memberstate.Term) error {
					if term > 1 {
						return lead(ctx, term)
					}
					<-time.After(time.Second)
					return problem
				}
			}, func(town *town) {
				first := town.leader()
				require.EqualValues(t, 1, first.el.Status().Term)
				town.pass(2 * time.Second)
				next := town.leader()
				assert.NotEqual(t, first, next)
				assert.Greater(t, next.el.Status().Term, memberstate.Term(1))
			})
		})
	}
}
