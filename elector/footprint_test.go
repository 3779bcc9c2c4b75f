// The cost of an idle group: memory, and the work per heartbeat.

package elector_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// mostBytes bounds the memory of an idle group, without its name.
const mostBytes = 490

// mostQuietBytes bounds that of a group that leaves its beats to nodes.
const mostQuietBytes = 256

// replyCounter is the transport of a node whose groups all follow n1. It counts their answers.
type replyCounter struct {
	answered chan int
	handler  rpc.Handler
}

func (e *replyCounter) Serve(h rpc.Handler) (stop func(), err error) {
	e.handler = h
	return func() {}, nil
}

// Send counts answers to heartbeats. A group that has not heard its leader yet may stand; nobody hears that.
func (e *replyCounter) Send(_ string, batch []rpc.Message) {
	answers := 0
	for i := range batch {
		if batch[i].Kind == rpc.HeartbeatResponse {
			answers++
		}
	}
	if answers > 0 {
		e.answered <- answers
	}
}

// followers is a host with many groups that follow a leader elsewhere.
type followers struct {
	host  *elector.Host
	store *memberstate.MemStore
	wire  *replyCounter
	beats []rpc.Message // of the leaders, one for each group
}

// gather starts the groups and makes them follow their leaders.
func gather(tb testing.TB, names []string) *followers {
	tb.Helper()
	c := &followers{store: new(memberstate.MemStore), wire: &replyCounter{answered: make(chan int)}}
	c.host = elector.MustHost(tb, elector.HostConfig{Self: "n0", Store: c.store, Transport: c.wire})
	beat := heartbeat(tb, "n1", "n0", 1)
	_, err := c.host.JoinAll(func(yield func(elector.GroupConfig) bool) {
		for _, name := range names {
			group := elector.GroupOf(name, "n0", "n1", "n2")
			group.Timing = elector.DLedgerTiming()
			beat.Group = name
			c.beats = append(c.beats, beat)
			if !yield(group) {
				return
			}
		}
	})
	require.NoError(tb, err)
	require.NoError(tb, c.host.StartAll())
	for range 2 { // the first one makes the groups adopt the term, the second makes them follow
		c.beat()
	}
	return c
}

// beat sends every group a heartbeat and waits for its answer, fifty groups at a time.
func (c *followers) beat() {
	for few := range slices.Chunk(c.beats, 50) {
		c.hear(few)
	}
}

// hear delivers these heartbeats at once and waits for the answers.
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

// bytesInUse are those on the heap and in stacks.
func bytesInUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second frees objects that had finalizers
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// The test measures the memory that is freed with the host, which includes neither the names nor
// the records in the store. A burst of messages must leave nothing behind.
func TestAnIdleGroupCostsFewBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := names(12_000) // so many that the cost of the host itself is negligible
		c := gather(t, all)
		c.hear(c.beats)
		c.beat()
		with := bytesInUse()
		require.NoError(t, c.host.Close(t.Context()))
		c.host, c.wire = nil, nil
		each := (with - bytesInUse()) / float64(len(all))
		t.Logf("%.0f bytes a group", each)
		assert.LessOrEqual(t, each, float64(mostBytes))
		assert.GreaterOrEqual(t, each, float64(unsafe.Sizeof(elector.Elector{})), "the measurement is wrong")
		runtime.KeepAlive(c)
		runtime.KeepAlive(all)
	})
}

// A quiet group leaves its beats to nodes, and its host keeps only what counts of it. A third of them are led here.
// They join in small lots, because the network between the hosts keeps the room of its largest burst.
func TestAQuietGroupCostsFewerBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := names(20_000)
		network, stores, hosts := rpc.NewNetwork(1), [3]memberstate.MemStore{}, [3]*elector.Host{}
		network.SetAll(rpc.Link{Delay: time.Millisecond})
		for i := range hosts {
			self := fmt.Sprint("n", i)
			hosts[i] = elector.MustHost(t, elector.HostConfig{Self: self, Store: &stores[i], Transport: network.Join(self)})
		}
		for lot := range slices.Chunk(all, 500) {
			for _, h := range hosts {
				joinAndStart(t, h, lot)
			}
			<-time.After(time.Second)
		}
		<-time.After(10 * time.Second)
		synctest.Wait()
		led := ledBy(hosts[:])
		for _, count := range led {
			assert.InDelta(t, len(all)/len(hosts), count, float64(len(all))/20)
		}
		with := bytesInUse()
		for i, h := range hosts {
			require.NoError(t, h.Close(endedContext()))
			hosts[i] = nil
		}
		each := (with - bytesInUse()) / float64(len(all)*3)
		t.Logf("%.0f bytes a group, of %v led", each, led)
		assert.LessOrEqual(t, each, float64(mostQuietBytes))
		assert.GreaterOrEqual(t, each, float64(unsafe.Sizeof(elector.Elector{})), "the measurement is wrong")
		runtime.KeepAlive(&stores)
		runtime.KeepAlive(network)
		runtime.KeepAlive(all)
	})
}

func joinAndStart(tb testing.TB, h *elector.Host, names []string) {
	tb.Helper()
	_, err := h.JoinAll(func(yield func(elector.GroupConfig) bool) {
		for _, name := range names {
			if !yield(elector.GroupOf(name, "n0", "n1", "n2")) {
				return
			}
		}
	})
	require.NoError(tb, err)
	require.NoError(tb, h.StartAll())
}

// ledBy is how many groups each host leads.
func ledBy(hosts []*elector.Host) []int {
	led := make([]int, len(hosts))
	for i, h := range hosts {
		for _, e := range h.Electors() {
			if e.Status().Role == memberstate.Leader {
				led[i]++
			}
		}
	}
	return led
}

func TestAHeartbeatAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := gather(t, names(50))
		assert.Less(t, testing.AllocsPerRun(100, c.beat), 10.0, "for fifty groups")
		require.NoError(t, c.host.Close(t.Context()))
	})
}

// BenchmarkBeat measures a heartbeat of one of many followers, from its arrival to the answer.
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
