// Delays: a loop that is blocked, as on an overloaded machine, and an engine that is slow to
// return where its ledger ends.

package elector_test

import (
	"context"
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

// follower follows n1 in term 1. The test can make some reads of its clock slow.
type follower struct {
	el    *elector.Elector
	reads atomic.Int64  // how often the clock was read
	slow  atomic.Int64  // how many of the next reads are slow
	delay time.Duration // of a slow read
	done  chan struct{} // closed after the last slow read
	heard time.Time     // when the last message arrived
	beat  rpc.Message
}

// hear delivers a heartbeat of the leader.
func (f *follower) hear() {
	f.beat.Round++
	f.heard = time.Now()
	f.el.Host().Receive([]rpc.Message{f.beat})
}

// read reads the time. If it is slow, a heartbeat arrives before it returns.
func (f *follower) read() time.Time {
	now := time.Now()
	f.reads.Add(1)
	if left := f.slow.Add(-1); left >= 0 {
		<-time.After(f.delay)
		f.hear()
		if left == 0 {
			close(f.done)
		}
	}
	return now
}

func withFollower(t *testing.T, change func(*config), play func(f *follower)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := goodConfig()
		change(&c)
		f := &follower{beat: heartbeat(t, "n1", "n0", 1), el: newElector(t, c)}
		elector.SetClock(f.el, f.read)
		require.NoError(t, f.el.Start())
		defer func() { assert.NoError(t, f.el.Stop(t.Context())) }()
		for range 2 { // the first one is a larger term
			f.hear()
			synctest.Wait()
		}
		require.Equal(t, "n1", f.el.Status().Leader)
		play(f)
	})
}

// A leader relies on a voter for a detection time from when it sent a heartbeat. So the voter
// must not count that time from before the heartbeat arrived, wherever in a turn it arrives.
func TestAPromiseIsCountedFromTheArrivalOfTheHeartbeat(t *testing.T) {
	for reads := int64(1); reads <= 4; reads++ {
		withFollower(t, func(*config) {}, func(f *follower) {
			f.delay, f.done = elector.DefaultTiming().Detection()/4, make(chan struct{})
			f.slow.Store(reads)
			f.hear()
			<-f.done
			<-time.After(time.Until(f.heard.Add(elector.DefaultTiming().Detection() - 1)))
			synctest.Wait()
			assert.Equal(t, "n1", f.el.Status().Leader, "after %d reads of the clock", reads)
			<-time.After(1)
			synctest.Wait()
			assert.Empty(t, f.el.Status().Leader, "after %d reads of the clock", reads)
		})
	}
}

// Here a function of Metrics blocks the loop, which it should not do.
func TestALoopThatWasBlockedIsNotLateForItsAlarm(t *testing.T) {
	detection := elector.DefaultTiming().Detection()
	blocks := func(c *config) {
		c.Metrics = &elector.Metrics{Dropped: func(elector.Drop, int) { <-time.After(detection / 2) }}
	}
	withFollower(t, blocks, func(f *follower) {
		<-time.After(detection / 3)                 // so that the only alarm is that of the leader's silence
		f.el.Host().Receive(make([]rpc.Message, 1)) // of no group
		<-time.After(time.Until(f.heard.Add(detection)))
		synctest.Wait()
		assert.Empty(t, f.el.Status().Leader)
	})
}

// A turn may come just before an alarm is due.
func TestAnAlarmRingsInTimeAfterATurn(t *testing.T) {
	detection := elector.DefaultTiming().Detection()
	withFollower(t, func(*config) {}, func(f *follower) {
		<-time.After(detection - time.Microsecond)
		f.el.Host().Receive(make([]rpc.Message, 1)) // of no group
		synctest.Wait()
		assert.Equal(t, "n1", f.el.Status().Leader)
		<-time.After(time.Microsecond)
		synctest.Wait()
		assert.Empty(t, f.el.Status().Leader)
	})
}

// An engine may hear and write an append of the leader while LedgerEnd runs.
func TestAnAppendHeardDuringLedgerEndMayBeInTheLedger(t *testing.T) {
	var asked, proceed chan struct{}
	var ledger growingLedger
	engine := func(c *config) {
		asked, proceed = make(chan struct{}), make(chan struct{})
		c.LedgerEnd = func(term memberstate.Term) memberstate.Position {
			if term == 2 {
				close(asked)
				<-proceed
			}
			return ledger.end(term)
		}
	}
	withFollower(t, engine, func(f *follower) {
		request := f.beat
		request.From, request.Leader = "n2", ""
		request.Body = rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.Won, Term: 2, Round: 1, Ledger: memberstate.Position{Term: 1, Index: 1}}
		f.el.Host().Receive([]rpc.Message{request})
		<-asked
		require.NoError(t, f.el.Heard(1, "n1"))
		ledger.last.Store(1)
		close(proceed)
		synctest.Wait()
		require.NoError(t, f.el.Err())
		assert.Equal(t, "n2", f.el.Status().Vote)
	})
}

// Appends may come very often, so only few of them wake the loop.
func TestFewAppendsWakeTheLoop(t *testing.T) {
	withFollower(t, func(*config) {}, func(f *follower) {
		<-time.After(elector.DefaultTiming().Heartbeat) // so that an append may wake it at all
		before := f.reads.Load()
		const appends = 1000
		for range appends {
			require.NoError(t, f.el.Heard(1, "n1"))
			synctest.Wait()
		}
		assert.Less(t, f.reads.Load()-before, int64(appends+10), "the loop reads the clock in every turn")
	})
}

// A follower that hears nothing but appends counts the detection time from one of the last, and not from long before: otherwise it would
// depose a leader that works.
func TestAnAppendRestartsTheDetectionTime(t *testing.T) {
	timing := elector.DefaultTiming()
	withFollower(t, func(*config) {}, func(f *follower) {
		<-time.After(timing.Heartbeat)
		require.NoError(t, f.el.Heard(1, "n1"))
		<-time.After(timing.Heartbeat / 4)
		require.NoError(t, f.el.Heard(1, "n1"))
		<-time.After(timing.Detection() - 1)
		synctest.Wait()
		assert.Equal(t, "n1", f.el.Status().Leader)
		<-time.After(1)
		synctest.Wait()
		assert.Empty(t, f.el.Status().Leader)
	})
}

// A request that is made in the last turn of a loop, in which its last group ends, is answered
// although no turn follows.
func TestRequestsOfTheLastTurnAreAnswered(t *testing.T) {
	var turn atomic.Int32
	var el *elector.Elector
	var heard, stopped chan error
	blocks := func(c *config) {
		heard, stopped = make(chan error, 1), make(chan error, 1)
		c.Metrics = &elector.Metrics{Dropped: func(elector.Drop, int) {
			switch turn.Add(1) {
			case 1: // the next turn has another such message, and the end of the group
				el.Host().Receive(make([]rpc.Message, 1))
				go func() { stopped <- el.Stop(context.Background()) }()
			case 2:
				go func() { heard <- el.Heard(7, "n1") }()
			}
			<-time.After(time.Millisecond)
		}}
	}
	withFollower(t, blocks, func(f *follower) {
		el = f.el
		el.Host().Receive(make([]rpc.Message, 1))
		require.NoError(t, <-stopped)
		require.ErrorIs(t, <-heard, elector.ErrStopped)
	})
}

// In one turn the loop may learn that its term is over, and only then that Lead had returned
// before. Each Lead must be counted once, or the group would not end.
func TestALeadThatReturnedBeforeEndLeadIsCountedOnce(t *testing.T) {
	var block atomic.Bool
	var leave chan struct{}
	withCluster(t, 3, func(c *config) {
		if c.Self != "n2" { // the first in turn
			return
		}
		leave = make(chan struct{})
		c.Lead = func(ctx context.Context, _ memberstate.Term) error {
			select {
			case <-leave:
			case <-ctx.Done():
			}
			return nil
		}
		c.Metrics = &elector.Metrics{Sent: func(string, []rpc.Message) {
			if block.CompareAndSwap(true, false) {
				<-time.After(20 * time.Millisecond)
			}
		}}
	}, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		require.Equal(t, first, leader.id)
		block.Store(true)
		for block.Load() { // until it beats
			<-time.After(time.Millisecond)
		}
		close(leave)
		later := leader.el.Status().Term + 1
		leader.el.Host().Receive([]rpc.Message{heartbeat(t, "n0", first, later)})
		cluster.pass(time.Second)
		assert.Less(t, leader.el.Status().Term, later+2, "it resigned once more")
		require.NoError(t, cluster.stop(leader))
	})
}
