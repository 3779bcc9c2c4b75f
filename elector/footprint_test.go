// What an idle group costs: bytes, and the work of a heartbeat.

package elector_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// mostBytes is what an idle group may cost, beside its name.
const mostBytes = 470

// echoes is the transport of a node whose groups all follow n1. It counts what the
// groups answer.
type echoes struct {
	answered chan int
	handler  rpc.Handler
}

func (e *echoes) Serve(h rpc.Handler) (stop func(), err error) {
	e.handler = h
	return func() {}, nil
}

func (e *echoes) Send(_ string, batch []rpc.Message) { e.answered <- len(batch) }

// followers is a host with many groups that follow a leader elsewhere.
type followers struct {
	host  *elector.Host
	store *memberstate.MemStore
	wire  *echoes
	beats []rpc.Message // of the leaders, one for each group
}

// gather starts the groups, and has them hear their leaders.
func gather(tb testing.TB, names []string) *followers {
	tb.Helper()
	c := &followers{store: new(memberstate.MemStore), wire: &echoes{answered: make(chan int)}}
	voters := memberstate.Voters("n0", "n1", "n2")
	members, err := memberstate.NewMembers(voters)
	require.NoError(tb, err)
	c.host, err = elector.NewHost(elector.HostConfig{Self: "n0", Store: c.store, Transport: c.wire})
	require.NoError(tb, err)
	for _, name := range names {
		el, err := c.host.Join(elector.GroupConfig{
			Group: name, Members: voters, Timing: elector.DLedgerTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(tb, err)
		require.NoError(tb, el.Start())
		c.beats = append(c.beats, rpc.Message{
			Group: name, From: "n1", To: "n0", Leader: "n1", Voters: members.Digest(), Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1},
		})
	}
	for range 2 { // they adopt the term, and then follow
		c.beat()
	}
	return c
}

// beat has every group hear its leader and answer, a few of them at a time.
func (c *followers) beat() {
	for few := range slices.Chunk(c.beats, 50) {
		c.hear(few)
	}
}

// hear has some groups hear their leaders at once.
func (c *followers) hear(beats []rpc.Message) {
	for i := range beats {
		beats[i].Round++
	}
	c.wire.handler.Receive(beats)
	for waiting := len(beats); waiting > 0; {
		waiting -= <-c.wire.answered
	}
}

func names(count int) []string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf("group-%05d", i)
	}
	return all
}

// alive is how many bytes are in use, on the heap and in stacks.
func alive() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // for what had finalizers
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// TestAnIdleGroupCostsFewBytes counts what is freed with the host: not the names, and
// not what the store keeps. A burst of messages leaves nothing behind.
func TestAnIdleGroupCostsFewBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := names(12_000) // so many that what the host itself costs does not count
		c := gather(t, all)
		c.hear(c.beats)
		c.beat()
		with := alive()
		require.NoError(t, c.host.Close(t.Context()))
		c.host, c.wire = nil, nil
		each := (with - alive()) / float64(len(all))
		t.Logf("%.0f bytes a group", each)
		assert.LessOrEqual(t, each, float64(mostBytes))
		assert.GreaterOrEqual(t, each, float64(unsafe.Sizeof(elector.Elector{})), "or it was not measured")
		runtime.KeepAlive(c)
		runtime.KeepAlive(all)
	})
}

// TestAHeartbeatAllocatesNothing: the beat of an idle group leaves the collector
// nothing to do.
func TestAHeartbeatAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := gather(t, names(50))
		assert.Less(t, testing.AllocsPerRun(100, c.beat), 10.0, "for fifty groups")
		require.NoError(t, c.host.Close(t.Context()))
	})
}

// BenchmarkBeat is what a heartbeat costs one of many groups that follow: from its
// arrival to the answer.
func BenchmarkBeat(b *testing.B) {
	for _, count := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("groups=%d", count), func(b *testing.B) {
			c := gather(b, names(count))
			b.ReportAllocs()
			for b.Loop() {
				c.beat()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/beat")
			require.NoError(b, c.host.Close(b.Context()))
		})
	}
}
