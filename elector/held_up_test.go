// A loop that is held up for a while, as on a machine that has too much to do: what it
// promises and what it waits for is counted from the right moment all the same.

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

// held is a follower of n1, whose clock takes its time when it is told to.
type held struct {
	el    *elector.Elector
	reads atomic.Int64  // of the clock that still are to take their time
	long  time.Duration // that each takes
	done  chan struct{} // closed after the last one
	heard time.Time     // when the last message came
	beat  rpc.Message
}

// hear has a heartbeat of the leader arrive.
func (f *held) hear() {
	f.beat.Round++
	f.heard = time.Now()
	f.el.Host().Receive([]rpc.Message{f.beat})
}

// read reads the time, and then a heartbeat comes in before anything else is done.
func (f *held) read() time.Time {
	now := time.Now()
	if left := f.reads.Add(-1); left >= 0 {
		<-time.After(f.long)
		f.hear()
		if left == 0 {
			close(f.done)
		}
	}
	return now
}

func inHeldUpLoop(t *testing.T, metrics *elector.Metrics, play func(f *held)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := goodConfig()
		c.Metrics = metrics
		members, err := memberstate.NewMembers(c.Members)
		require.NoError(t, err)
		f := &held{beat: rpc.Message{Group: "g", From: "n1", To: "n0", Leader: "n1", Voters: members.Digest(), Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1}}}
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
		inHeldUpLoop(t, nil, func(f *held) {
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
	metrics := &elector.Metrics{Dropped: func(elector.Drop, int) { <-time.After(detection / 2) }}
	inHeldUpLoop(t, metrics, func(f *held) {
		<-time.After(detection / 3)                 // so that only the leader's silence is waited for
		f.el.Host().Receive(make([]rpc.Message, 1)) // of no group
		<-time.After(time.Until(f.heard.Add(detection)))
		synctest.Wait()
		assert.Empty(t, f.el.Status().Leader)
	})
}
