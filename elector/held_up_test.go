// What happens while something takes its time: while the loop is held up, as on a machine that
// has too much to do, and while the engine looks at its ledger.

package elector_test

import (
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

// follower follows n1 in term 1. Its clock takes its time when it is told to.
type follower struct {
	el    *elector.Elector
	looks atomic.Int64  // how often the clock was read
	reads atomic.Int64  // of the clock that still are to take their time
	long  time.Duration // that each takes
	done  chan struct{} // closed after the last one
	heard time.Time     // when the last message came
	beat  rpc.Message
}

// hear has a heartbeat of the leader arrive.
func (f *follower) hear() {
	f.beat.Round++
	f.heard = time.Now()
	f.el.Host().Receive([]rpc.Message{f.beat})
}

// read reads the time, and then a heartbeat comes in before anything else is done.
func (f *follower) read() time.Time {
	now := time.Now()
	f.looks.Add(1)
	if left := f.reads.Add(-1); left >= 0 {
		<-time.After(f.long)
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
		members, err := memberstate.NewMembers(c.Members)
		require.NoError(t, err)
		f := &follower{beat: rpc.Message{Group: "g", From: "n1", To: "n0", Leader: "n1", Voters: members.Digest(), Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1}}}
		f.el, err = elector.New(c.HostConfig, c.GroupConfig)
		require.NoError(t, err)
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

// A leader counts on a voter for a detection time from when it sent a heartbeat. So the voter
// must not count it from before the heartbeat came, whenever in a turn it comes.
func TestAPromiseIsNotCountedFromBeforeItWasAskedFor(t *testing.T) {
	for reads := int64(1); reads <= 4; reads++ {
		withFollower(t, func(*config) {}, func(f *follower) {
			f.long, f.done = elector.DefaultTiming().Detection()/4, make(chan struct{})
			f.reads.Store(reads)
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

// One who measures holds the loop up here, which nobody should do.
func TestALoopThatWasHeldUpIsNotLateForItsAlarm(t *testing.T) {
	detection := elector.DefaultTiming().Detection()
	measures := func(c *config) {
		c.Metrics = &elector.Metrics{Dropped: func(elector.Drop, int) { <-time.After(detection / 2) }}
	}
	withFollower(t, measures, func(f *follower) {
		<-time.After(detection / 3)                 // so that only the leader's silence is waited for
		f.el.Host().Receive(make([]rpc.Message, 1)) // of no group
		<-time.After(time.Until(f.heard.Add(detection)))
		synctest.Wait()
		assert.Empty(t, f.el.Status().Leader)
	})
}

// An engine may hear of an append of the leader, and write it, between the question where its
// ledger ends and the answer.
func TestWhatIsHeardWhileTheLedgerIsAskedMayBeInIt(t *testing.T) {
	var asked, look chan struct{}
	var last atomic.Uint64
	engine := func(c *config) {
		asked, look = make(chan struct{}), make(chan struct{})
		c.LedgerEnd = func(term memberstate.Term) memberstate.Position {
			if term == 2 {
				close(asked)
				<-look
			}
			return memberstate.Position{Term: memberstate.Term(last.Load()), Index: last.Load()}
		}
	}
	withFollower(t, engine, func(f *follower) {
		request := f.beat
		request.From, request.Leader = "n2", ""
		request.Body = rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.Won, Term: 2, Round: 1, Ledger: memberstate.Position{Term: 1, Index: 1}}
		f.el.Host().Receive([]rpc.Message{request})
		<-asked
		require.NoError(t, f.el.Heard(1, "n1"))
		last.Store(1)
		close(look)
		synctest.Wait()
		require.NoError(t, f.el.Err())
		assert.Equal(t, "n2", f.el.Status().Vote)
	})
}

// Appends may be many, and the loop has other things to do than to hear of each.
func TestTheLoopIsToldOfFewOfTheAppends(t *testing.T) {
	withFollower(t, func(*config) {}, func(f *follower) {
		before := f.looks.Load()
		const appends = 1000
		for range appends {
			require.NoError(t, f.el.Heard(1, "n1"))
			synctest.Wait()
		}
		assert.Less(t, f.looks.Load()-before, int64(appends+10), "the loop looks at the clock in every turn")
	})
}
