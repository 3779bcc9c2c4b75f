// Known faults of other elections by a lease, which must not exist here.

package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

func strict(c *settings) { c.Strict = true }

// SOFARegistry, and every election that stores local times, has this fault: in the hour that is
// skipped in spring a live lease looks an hour old.
func TestALeaseIsNotStolenWhenTheDatabasesClockSpringsForward(t *testing.T) {
	play(t, func(s *stage) {
		first := s.enter("first", strict)
		s.lead(first)
		second := s.enter("second", strict)
		s.pass(time.Second)
		s.store.Step(time.Hour)
		s.pass(time.Minute)
		assert.True(t, first.leads())
		assert.Empty(t, second.began)
	})
}

// In autumn, with the same fault, a dead lease looks alive for an hour.
func TestADeadLeaderIsReplacedWhenTheDatabasesClockFallsBack(t *testing.T) {
	play(t, func(s *stage) {
		first := s.enter("first", strict)
		s.lead(first)
		second := s.enter("second", strict)
		s.pass(time.Second)
		first.crash()
		s.store.Step(-time.Hour)
		took := s.lead(second)
		assert.LessOrEqual(t, took, timing.TTL+2*timing.Poll)
	})
}

// A takeover takes a TTL and at most one poll from the last renewal, to the millisecond, if the
// database's clock does not step. A strict candidate, which does not use that clock, needs one
// more poll to see the renewal.
func TestTakeoverIsWithinATTLAndOnePollOrTwo(t *testing.T) {
	for name, mode := range map[string]struct {
		change func(*settings)
		polls  time.Duration
	}{"by the database's clock": {nil, 1}, "strict": {strict, 2}} {
		t.Run(name, func(t *testing.T) {
			for range 50 {
				play(t, func(s *stage) {
					first := s.enter("first", mode.change)
					s.lead(first)
					second := s.enter("second", mode.change)
					s.pass(2 * timing.Renew)
					first.conn.count("renew")
					s.until("it has renewed", func() bool { return first.conn.count("renew") > 0 })
					first.crash()
					took := s.lead(second)
					assert.LessOrEqual(t, took, timing.TTL+mode.polls*timing.Poll)
					assert.Greater(t, took, timing.TTL-2*watched)
				})
			}
		})
	}
}

// A TTL can be shorter than a second, because no time is rounded to whole seconds.
func TestLeasesMayBeMuchShorterThanASecond(t *testing.T) {
	short := lease.Timing{TTL: 60 * time.Millisecond, Renew: 20 * time.Millisecond, Poll: 10 * time.Millisecond, Timeout: 20 * time.Millisecond, DriftMargin: 2 * time.Millisecond}
	play(t, func(s *stage) {
		change := func(c *settings) { c.Timing = short }
		first := s.enter("first", change)
		s.lead(first)
		second := s.enter("second", change)
		s.pass(10 * time.Second)
		require.True(t, first.leads())
		first.crash()
		assert.LessOrEqual(t, s.lead(second), short.TTL+short.Poll+watched)
	})
}

// Elections whose contenders compare the row with their own clocks have this fault. Here a
// candidate's clock may be ahead by any amount.
func TestAContendersOwnClockStealsNothing(t *testing.T) {
	play(t, func(s *stage) {
		first := s.enter("first", nil)
		s.lead(first)
		s.pass(12 * time.Second) // the second one's clock begins now, 12 s apart
		second := s.enter("second", nil)
		s.pass(time.Minute)
		assert.True(t, first.leads())
		assert.Empty(t, second.began)
	})
}

// Elections that identify a candidate by host, port and process id have this fault, because
// these can recur. Here a restarted process is another candidate, even with the same name, and
// waits like any other.
func TestARestartedProcessInheritsNothing(t *testing.T) {
	play(t, func(s *stage) {
		first := s.enter("same", nil)
		s.lead(first)
		first.crash()
		second := s.enter("same", nil)
		assert.NotEqual(t, first.Status().Self, second.Status().Self)
		s.until("the old lease has run out", func() bool { return !first.leads() })
		assert.Empty(t, second.began)
		s.lead(second)
		assert.Equal(t, first.began[0]+1, second.began[0])
	})
}

// Elections with a scheduled task that dies by an exception have this fault: the node believes
// in its office for ever. Here an elector survives every failure, and an office that cannot be
// confirmed ends.
func TestFailuresEndAnOfficeAndNotTheElector(t *testing.T) {
	play(t, func(s *stage) {
		only := s.enter("only", nil)
		s.lead(only)
		only.conn.set(func(context.Context, string, func(context.Context) error) error {
			return errors.New("lock wait timeout exceeded")
		})
		s.pass(timing.TTL)
		assert.False(t, only.leads())
		assert.Zero(t, s.serving())
		s.pass(time.Hour)
		only.conn.set(nil)
		s.lead(only)
		assert.Len(t, only.began, 2)
	})
}

// pglock has this fault: the connection stalls, the driver does not return, and the old leader's
// context lives on after another has taken over.
func TestADriverThatHangsCannotProlongAnOffice(t *testing.T) {
	play(t, func(s *stage) {
		release := make(chan struct{})
		defer close(release)
		first := s.enter("first", nil)
		s.lead(first)
		second := s.enter("second", nil)
		s.pass(time.Second)
		first.conn.set(func(context.Context, string, func(context.Context) error) error {
			<-release // and ignores its context
			return errors.New("broken pipe")
		})
		s.lead(second) // begin fails the test if the first one is still in office
		assert.False(t, first.leads())
		_, _, ok := first.Lease()
		assert.False(t, ok)
		first.conn.set(nil) // the hanging call still hangs, on its old connection
		second.crash()
		s.lead(first)
	})
}

// client-go has this fault: it counts the deadline from the answer. An answer that is delayed
// by nearly the TTL, after which the network is cut, makes two leaders.
func TestALateAnswerProlongsNothing(t *testing.T) {
	patient := timing
	patient.Renew, patient.Timeout = timing.TTL/10, timing.TTL
	play(t, func(s *stage) {
		first := s.enter("first", func(c *settings) { c.Timing = patient })
		s.lead(first)
		second := s.enter("second", nil)
		first.conn.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			if op != "renew" {
				return cut(ctx, op, do)
			}
			err := do(ctx)
			<-time.After(timing.TTL - patient.Renew - 200*time.Millisecond) // before the old end
			first.crash()
			return err
		})
		s.lead(second) // begin fails the test if the first one is still in office
		assert.False(t, first.leads())
	})
}

// A claim wins and its answer is lost. The candidate notices at its next poll, and has the
// lease at once, in a new term.
func TestAnAnswerThatIsLostDoesNotCostATTL(t *testing.T) {
	play(t, func(s *stage) {
		lost := 0
		only := s.enter("only", nil)
		only.conn.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			err := do(ctx)
			if op == "acquire" && lost == 0 {
				lost++
				return errors.New("connection reset")
			}
			return err
		})
		took := s.lead(only)
		assert.Equal(t, 1, lost)
		assert.Less(t, took, 2*timing.Poll)
		assert.Equal(t, []memberstate.Term{2}, only.began)
	})
}

// A winning claim gives no office if its answer comes after the lease has expired.
func TestAnAnswerThatComesTooLateIsNoOffice(t *testing.T) {
	slow := timing
	slow.Timeout = 2 * timing.TTL
	play(t, func(s *stage) {
		late := 0
		only := s.enter("only", func(c *settings) { c.Timing = slow })
		only.conn.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			err := do(ctx)
			if op == "acquire" && late == 0 {
				late++
				<-time.After(timing.TTL)
			}
			return err
		})
		s.lead(only)
		assert.Equal(t, []memberstate.Term{2}, only.began)
	})
}

// A renewal without an answer does not lose the lease, so renewals may fail for a while.
func TestRenewalsThatFailForAWhileCostNothing(t *testing.T) {
	play(t, func(s *stage) {
		only := s.enter("only", nil)
		s.lead(only)
		n := 0
		only.conn.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			if n++; op == "renew" && n%3 != 0 {
				return errors.New("deadlock found")
			}
			return do(ctx)
		})
		s.pass(time.Hour)
		assert.Len(t, only.began, 1)
	})
}

// A renewal that changes no row means that the lease is lost at once, not at the deadline.
func TestALeaseThatWasTakenAwayIsLostAtTheNextRenewal(t *testing.T) {
	play(t, func(s *stage) {
		only := s.enter("only", nil)
		s.lead(only)
		require.NoError(t, s.store.Force(context.Background(), "g", ""))
		s.until("the office ends", func() bool { return s.serving() == 0 })
		took := s.lead(only)
		assert.LessOrEqual(t, took, timing.Renew+3*timing.Poll)
		assert.Equal(t, []memberstate.Term{1, 3}, only.began)
	})
}

// Callbacks that block do not block the renewal of any lease.
func TestCallbacksThatBlockDoNotBlockRenewals(t *testing.T) {
	play(t, func(s *stage) {
		hold := make(chan struct{})
		first := s.enter("first", func(c *settings) { c.Handlers = []elector.RoleHandler{stuck{hold}} })
		s.lead(first)
		s.pass(time.Hour)
		assert.True(t, first.leads())
		assert.Len(t, first.began, 1)
		close(hold)
	})
}

type stuck struct{ hold chan struct{} }

func (h stuck) Startup()              { <-h.hold }
func (h stuck) Handle(elector.Status) { <-h.hold }
func (h stuck) Shutdown()             { <-h.hold }

// A lease is released only after Lead has returned.
func TestALeaseIsReleasedAfterLeadHasReturned(t *testing.T) {
	play(t, func(s *stage) {
		returned := false
		first := s.enter("first", func(c *settings) {
			c.Lead = func(ctx context.Context, _ memberstate.Term) error {
				<-ctx.Done()
				<-time.After(2 * time.Second)
				returned = true
				return nil
			}
		})
		s.lead(first)
		first.conn.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			assert.NotEqual(t, "renew", op)
			assert.True(t, op != "release" || returned, "released too early")
			return do(ctx)
		})
		require.NoError(t, first.Resign(context.Background()))
		assert.True(t, returned)
		assert.Equal(t, 1, first.conn.count("release"))
		assert.True(t, s.record().Released)
	})
}

// A candidate that leaves while its claim is under way releases the lease if the claim wins, and wakes others as after any
// release.
func TestALeaseThatIsWonWhileLeavingIsReleased(t *testing.T) {
	play(t, func(s *stage) {
		waker := &bells{Store: s.store}
		only := s.enter("only", func(c *settings) { c.Waker = waker })
		only.conn.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			if op == "acquire" {
				only.stop()
				<-time.After(time.Second)
			}
			return do(ctx)
		})
		<-only.ended
		assert.Empty(t, only.began)
		assert.EqualValues(t, 1, s.record().Term)
		assert.True(t, s.record().Released)
		rung, _ := waker.heard()
		assert.Equal(t, 1, rung)
	})
}

// A leader that is silent for a TTL is not shown as one.
func TestADeadLeaderIsNotShown(t *testing.T) {
	playBoth(t, func(s *stage, change func(*settings)) {
		first := s.enter("first", change)
		s.lead(first)
		looker := s.enter("looker", func(c *settings) {
			c.Observer = true
			change(c)
		})
		s.pass(time.Minute)
		require.Equal(s.t, first.Status().Self, looker.Status().Leader)
		first.crash()
		took := s.until("it is gone", func() bool { return looker.Status().Leader == "" })
		assert.LessOrEqual(s.t, took, timing.TTL+2*timing.Poll)
	})
}

// A Lead that does not return keeps its own candidate from the lease, but others for no longer
// than a TTL.
func TestALeadThatDoesNotReturnHoldsUpNobodyElse(t *testing.T) {
	play(t, func(s *stage) {
		hold := make(chan struct{})
		first := s.enter("first", func(c *settings) {
			c.Lead = func(context.Context, memberstate.Term) error { <-hold; return nil }
		})
		s.lead(first)
		second := s.enter("second", nil)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		assert.ErrorIs(t, first.Resign(ctx), context.DeadlineExceeded)
		assert.False(t, first.leads())
		assert.LessOrEqual(t, s.lead(second), timing.TTL+2*timing.Poll)
		s.pass(time.Hour)
		assert.True(t, second.leads())
		close(hold)
	})
}

// A database that was restored from a backup would give out tokens twice.
func TestADatabaseThatHasGoneBackElectsNobody(t *testing.T) {
	play(t, func(s *stage) {
		only := s.enter("only", nil)
		s.lead(only)
		for range 3 {
			require.NoError(t, only.Resign(context.Background()))
			s.lead(only)
		}
		before := len(only.began)
		only.conn.set(cut)
		s.until("the office ends", func() bool { return !only.leads() })
		backup := new(mem.Store)
		_, err := backup.Acquire(context.Background(), lease.Claim{Name: "g", Holder: "somebody#1", TTL: time.Second})
		require.NoError(t, err)
		only.conn.swap(backup)
		only.conn.set(nil)
		s.pass(time.Hour)
		assert.Len(t, only.began, before)
		for range 5 {
			require.NoError(t, backup.Force(context.Background(), "g", ""))
		}
		s.lead(only)
	})
}

// No two candidates are in office at the same time, whatever the network does.
func TestTwoCandidatesAreNeverInOffice(t *testing.T) {
	playBoth(t, func(s *stage, change func(*settings)) {
		var all []*candidate
		for i := range 5 {
			c := s.enter(fmt.Sprintf("c%d", i), change)
			c.conn.set(storm(uint64(i)))
			all = append(all, c)
		}
		s.pass(time.Duration(effort.Of(120, 40)) * time.Minute)
		offices := map[memberstate.Term]bool{}
		for _, c := range all {
			for _, term := range c.began {
				assert.False(s.t, offices[term], "term %d was led twice", term)
				offices[term] = true
			}
		}
		assert.Greater(s.t, len(offices), effort.Of(50, 15))
	})
}
