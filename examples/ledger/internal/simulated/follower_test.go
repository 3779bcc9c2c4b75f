// A follower that hears its leader's messages in an order that worlds rarely have.

package simulated

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// heard keeps what a follower says.
type heard chan *ledgerpb.Message

func (h heard) Send(_ string, m *ledgerpb.Message) { h <- m }

// follower is a follower, n0, and what a test says in the name of its leader, n1.
type follower struct {
	*testing.T
	engine    *engine.Engine
	elections *rpc.Network
	says      heard
	syncs     atomic.Int64 // how long one takes
	config    engine.Config
}

func newFollower(t *testing.T, hold bool) *follower {
	t.Helper()
	f := &follower{T: t, elections: rpc.NewNetwork(1), says: make(heard, 1000)}
	disk := vfs.NewMem()
	require.NoError(t, engine.Create("data", disk, 1))
	f.config = engine.Config{
		Self: "n0", Members: memberstate.Voters("n0", "n1", "n2"), Shards: 1, Timing: elector.DefaultTiming(), Hold: hold,
		Dir: "data", FS: slowDisk{disk, func() time.Duration { return time.Duration(f.syncs.Load()) }}, Store: new(memberstate.MemStore),
		Network: f.says, Failed: func(err error) { t.Error(err) },
	}
	f.start()
	return f
}

// start starts a process.
func (f *follower) start() {
	f.Helper()
	f.config.Elections = f.elections.Join("n0")
	var err error
	f.engine, err = engine.Open(f.config)
	require.NoError(f, err)
	require.NoError(f, f.engine.Start())
}

// restart ends the process, and starts another one.
func (f *follower) restart() {
	f.Helper()
	require.NoError(f, f.engine.Close(f.Context()))
	f.start()
}

// receives gives the follower a message of its leader.
func (f *follower) receives(m *ledgerpb.Message) {
	m.From, m.Term = "n1", 1
	f.engine.Receive(m)
}

// appends gives it one entry of a leader that has so many.
func (f *follower) appends(index, end uint64) {
	before := &ledgerpb.Position{Index: index - 1}
	if index > 1 {
		before.Term = 1
	}
	f.hears(&ledgerpb.Append{Before: before, Entries: []*ledgerpb.Entry{{Term: 1, Index: index}}, End: end})
}

func (f *follower) hears(a *ledgerpb.Append) {
	f.receives(&ledgerpb.Message{Says: &ledgerpb.Message_Append{Append: a}})
}

// answers are what it has said since, when all that waits for the disk is written.
func (f *follower) answers() (all []string) {
	<-time.After(10 * time.Second) // virtual time
	for len(f.says) > 0 {
		switch says := (<-f.says).Says.(type) {
		case *ledgerpb.Message_Matched:
			all = append(all, fmt.Sprintf("matched %d, refused %v", says.Matched.Index, says.Matched.Refused))
		case *ledgerpb.Message_Chunked:
			all = append(all, fmt.Sprintf("has the state: %v", says.Chunked.Done))
		}
	}
	return all
}

// Entries 2 and 3 are being written when the state up to 2 is complete: it takes the place of the ledger, so 3 is gone, and the leader must
// not be told that it is there.
func TestAnEntryThatAStateHasReplacedIsNotAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(t, false)
		f.appends(1, 1)
		require.Equal(t, []string{"matched 1, refused false"}, f.answers())

		f.syncs.Store(int64(time.Second))
		f.appends(2, 2)
		f.appends(3, 3)
		f.receives(&ledgerpb.Message{Says: &ledgerpb.Message_Chunk{Chunk: &ledgerpb.Chunk{Upto: &ledgerpb.Position{Term: 1, Index: 2}, Attempt: 1, Last: true}}})
		assert.Equal(t, []string{"has the state: true"}, f.answers())

		f.appends(3, 3)
		assert.Equal(t, []string{"matched 3, refused false"}, f.answers(), "it was not there, and is now")
		require.NoError(t, f.engine.Close(t.Context()))
	})
}

// A leader that is only read from sends no entries, but asks whether it is followed. That does not tell a node that has come back whether it lacks any,
// so it goes on asking.
func TestANodeThatHasComeBackAsksUntilItKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(t, true)
		serves := func() bool { return f.engine.Host().Progress().Standing.State == rpc.Serving }
		f.appends(1, 2)
		for round := range uint64(100) {
			f.hears(&ledgerpb.Append{Before: &ledgerpb.Position{}, Round: round, End: 2})
			<-time.After(elector.DefaultTiming().Heartbeat / 2) // virtual time
		}
		asked := 0
		for _, says := range f.answers() {
			if says == "matched 1, refused true" {
				asked++
			}
		}
		assert.Greater(t, asked, 40, "once in a heartbeat")
		assert.False(t, serves(), "it lacks an entry")
		f.appends(2, 2)
		f.answers()
		assert.True(t, serves())
		require.NoError(t, f.engine.Close(t.Context()))
	})
}

// put is an entry of term 1 that puts a value.
func put(index uint64) *ledgerpb.Entry {
	does := &ledgerpb.Command_Put{Put: &ledgerpb.Put{Key: []byte("k"), Value: []byte("v")}}
	return &ledgerpb.Entry{Term: 1, Index: index, Command: &ledgerpb.Command{Does: does}}
}

// The state on disk is not synced by itself. If it had an entry that the ledger can lose, then after a crash it would have what the next
// leader may replace.
func TestAnEntryIsAppliedWhenItIsOnTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(t, false)
		empty := f.engine.Digest(0)
		f.syncs.Store(int64(time.Second))
		f.hears(&ledgerpb.Append{Before: &ledgerpb.Position{}, Entries: []*ledgerpb.Entry{put(1)}, Committed: 1, End: 1})
		synctest.Wait()
		assert.Equal(t, empty, f.engine.Digest(0), "it is committed, and not on this disk")
		f.answers()
		assert.NotEqual(t, empty, f.engine.Digest(0))
		require.NoError(t, f.engine.Close(t.Context()))
	})
}

// A sync that does not return must not keep a node from ending, or its supervisor has to kill it.
func TestANodeWhoseDiskHangsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(t, false)
		f.syncs.Store(int64(time.Hour))
		f.appends(1, 1)
		began := time.Now()
		assert.ErrorContains(t, f.engine.Close(t.Context()), "the disk hangs")
		assert.Less(t, time.Since(began), time.Minute) // virtual time
		f.syncs.Store(0)
		<-time.After(2 * time.Hour) // until it hangs no more
	})
}

// The entry is in memory when the append comes again, and a crash would still take it away.
func TestAnAppendThatComesTwiceIsNotAcknowledgedEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(t, false)
		f.syncs.Store(int64(time.Second))
		f.appends(1, 1)
		f.appends(1, 1)
		assert.Equal(t, []string{"matched 0, refused false", "matched 1, refused false"}, f.answers())
		require.NoError(t, f.engine.Close(t.Context()))
	})
}

// The first attempt to send the state was given up, and a value that was in it is gone. The second one must not find it again.
func TestAStateHasNothingOfAnEarlierAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		part := func(attempt uint64, key string, last bool) *ledgerpb.Message {
			pairs := []*ledgerpb.Pair{{Key: []byte(key), Value: []byte("v")}}
			return &ledgerpb.Message{Says: &ledgerpb.Message_Chunk{Chunk: &ledgerpb.Chunk{Upto: &ledgerpb.Position{Term: 1, Index: 5}, Attempt: attempt, Pairs: pairs, Last: last}}}
		}
		digests := map[string]bool{}
		for _, earlier := range []string{"none", "of this process", "of a former process"} {
			f := newFollower(t, false)
			if earlier != "none" {
				f.receives(part(1, "kold", false))
				f.answers()
			}
			if earlier == "of a former process" {
				f.restart()
			}
			f.receives(part(2, "knew", true))
			assert.Equal(t, []string{"has the state: true"}, f.answers(), earlier)
			digests[string(f.engine.Digest(0))] = true
			require.NoError(t, f.engine.Close(t.Context()))
		}
		assert.Len(t, digests, 1)
	})
}
