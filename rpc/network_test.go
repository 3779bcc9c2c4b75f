// The network in memory keeps the contract of a transport, and its links behave as configured.

package rpc_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/rpctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNetworkIsATransport(t *testing.T) {
	networks := map[string]*rpc.Network{}
	rpctest.Run(t, func(t *testing.T, node string) rpc.Transport {
		t.Helper()
		if networks[t.Name()] == nil {
			networks[t.Name()] = rpc.NewNetwork(1)
		}
		return networks[t.Name()].Join(node)
	})
}

// listener records the rounds of messages, and the nodes that are reported lost.
type listener struct {
	rounds []uint32
	lost   []string
}

func (l *listener) Receive(batch []rpc.Message) {
	for _, m := range batch {
		l.rounds = append(l.rounds, m.Round)
	}
}

func (l *listener) PeerLost(node string) { l.lost = append(l.lost, node) }

// heardOver sends n messages from a to b, one a millisecond, and returns the
// rounds in which b heard them a second later.
func heardOver(t *testing.T, seed uint64, l rpc.Link, n int) (rounds []uint32, lost uint64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := rpc.NewNetwork(seed)
		network.SetLink("a", "b", l)
		b := new(listener)
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		for i := range n {
			network.Join("a").Send("b", []rpc.Message{{Body: rpc.Body{Kind: rpc.Heartbeat, Round: uint32(i)}}})
			<-time.After(time.Millisecond)
		}
		<-time.After(time.Second)
		stop()
		rounds, lost = b.rounds, network.Lost()
	})
	return rounds, lost
}

func TestPerfectLinksDeliverEverythingInOrder(t *testing.T) {
	rounds, lost := heardOver(t, 1, rpc.Link{}, 100)
	assert.Len(t, rounds, 100)
	assert.True(t, slices.IsSorted(rounds))
	assert.Zero(t, lost)
}

func TestJitterKeepsTheOrder(t *testing.T) {
	rounds, _ := heardOver(t, 1, rpc.Link{Delay: time.Millisecond, Jitter: 20 * time.Millisecond}, 100)
	assert.Len(t, rounds, 100)
	assert.True(t, slices.IsSorted(rounds))
}

func TestLossDropsSomeMessages(t *testing.T) {
	rounds, lost := heardOver(t, 1, rpc.Link{Loss: 0.5}, 1000)
	assert.Len(t, rounds, 1000-int(lost))
	assert.InDelta(t, 500, len(rounds), 100)
}

func TestDuplicatesArriveTwice(t *testing.T) {
	rounds, _ := heardOver(t, 1, rpc.Link{Duplicate: 0.5}, 1000)
	assert.InDelta(t, 1500, len(rounds), 100)
	assert.Len(t, slices.Compact(rounds), 1000)
}

func TestReorderedMessagesAreOvertaken(t *testing.T) {
	rounds, _ := heardOver(t, 1, rpc.Link{Delay: 5 * time.Millisecond, Reorder: 0.1}, 1000)
	assert.Len(t, rounds, 1000)
	assert.False(t, slices.IsSorted(rounds))
}

// A link without a delay reorders what is sent together.
func TestAMessageOfABatchMayBeOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), new(listener)
		network.SetAll(rpc.Link{Reorder: 0.1})
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		batch := make([]rpc.Message, 100)
		for i := range batch {
			batch[i].Round = uint32(i)
		}
		network.Join("a").Send("b", batch)
		<-time.After(time.Second)
		stop()
		assert.Len(t, b.rounds, 100)
		assert.False(t, slices.IsSorted(b.rounds))
	})
}

func TestASlowLinkDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), new(listener)
		network.SetLink("a", "b", rpc.Link{Delay: time.Second})
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		network.Join("a").Send("b", []rpc.Message{{Body: rpc.Body{Round: 1}}})
		network.Join("c").Send("b", []rpc.Message{{Body: rpc.Body{Round: 2}}})
		<-time.After(2 * time.Second)
		stop()
		assert.Equal(t, []uint32{2, 1}, b.rounds)
	})
}

func TestALinkIsCutInOneDirection(t *testing.T) {
	rounds, lost := heardOver(t, 1, rpc.Link{Cut: true}, 10)
	assert.Empty(t, rounds)
	assert.EqualValues(t, 10, lost)
	synctest.Test(t, func(t *testing.T) {
		network, a := rpc.NewNetwork(1), new(listener)
		network.SetLink("a", "b", rpc.Link{Cut: true})
		stop, err := network.Join("a").Serve(a)
		require.NoError(t, err)
		network.Join("b").Send("a", []rpc.Message{{}})
		synctest.Wait()
		stop()
		assert.Len(t, a.rounds, 1)
	})
}

func TestTheSameSeedGivesTheSameDeliveries(t *testing.T) {
	bad := rpc.Link{Delay: time.Millisecond, Jitter: 9 * time.Millisecond, Loss: 0.2, Duplicate: 0.2, Reorder: 0.2}
	first, _ := heardOver(t, 7, bad, 500)
	again, _ := heardOver(t, 7, bad, 500)
	other, _ := heardOver(t, 8, bad, 500)
	assert.Equal(t, first, again)
	assert.NotEqual(t, first, other)
}

func TestALossIsReportedToAllOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := rpc.NewNetwork(1)
		ears := map[string]*listener{"a": {}, "b": {}, "c": {}}
		var stops []func()
		for node, ear := range ears {
			stop, err := network.Join(node).Serve(ear)
			require.NoError(t, err)
			stops = append(stops, stop)
		}
		synctest.Wait() // they wait for messages
		network.ReportLost("a")
		synctest.Wait()
		network.Join("a").Send("b", make([]rpc.Message, 1)) // what comes later reports nothing again
		synctest.Wait()
		for _, stop := range stops {
			stop()
		}
		assert.Empty(t, ears["a"].lost)
		assert.Equal(t, []string{"a"}, ears["b"].lost)
		assert.Equal(t, []string{"a"}, ears["c"].lost)
	})
}

func TestSetAllSetsLinksThatWereSetBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), new(listener)
		network.SetLink("a", "b", rpc.Link{Cut: true})
		network.SetAll(rpc.Link{})
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		network.Join("a").Send("b", []rpc.Message{{}})
		synctest.Wait()
		stop()
		assert.Len(t, b.rounds, 1)
	})
}

// A node that is served again receives only what was sent since then, and all else counts as lost.
func TestANodeThatIsNotServedReceivesNothingLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, first, second := rpc.NewNetwork(1), new(listener), new(listener)
		network.SetAll(rpc.Link{Delay: time.Second})
		a, b := network.Join("a"), network.Join("b")
		beat := []rpc.Message{{Body: rpc.Body{Kind: rpc.Heartbeat}}}
		a.Send("c", beat)
		assert.EqualValues(t, 1, network.Lost(), "no such node")
		stop, err := b.Serve(first)
		require.NoError(t, err)
		a.Send("b", beat)
		synctest.Wait()
		stop()
		assert.EqualValues(t, 2, network.Lost(), "it was on its way")
		a.Send("b", beat)
		network.ReportLost("a")
		assert.EqualValues(t, 3, network.Lost(), "b is not served")
		stop, err = b.Serve(second)
		require.NoError(t, err)
		<-time.After(2 * time.Second)
		stop()
		assert.Empty(t, first.rounds)
		assert.Empty(t, second.rounds)
		assert.Empty(t, second.lost)
	})
}

// Tests of protocols reckon with the number.
func TestEveryMessageOfABatchThatIsLostCounts(t *testing.T) {
	network := rpc.NewNetwork(1)
	network.Join("a").Send("nobody", make([]rpc.Message, 3))
	assert.EqualValues(t, 3, network.Lost())
	network.Join("b")
	network.Join("a").Send("b", make([]rpc.Message, 2))
	assert.EqualValues(t, 5, network.Lost(), "it has joined, and is not served")
}

// busy is a handler that returns when it may.
type busy struct {
	listener
	leave chan struct{}
}

func (b *busy) Receive([]rpc.Message) { <-b.leave }

// A hint may come while the handler is being stopped. The next handler must not receive it.
func TestAHintIsForTheHandlerThatWasServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := rpc.NewNetwork(1)
		for range 20 { // the goroutine that delivers has a choice
			first, later := &busy{leave: make(chan struct{})}, new(listener)
			stop, err := network.Join("b").Serve(first)
			require.NoError(t, err)
			network.Join("a").Send("b", []rpc.Message{{}})
			synctest.Wait()
			network.ReportLost("a")
			go stop()
			synctest.Wait()
			close(first.leave)
			synctest.Wait()
			stop, err = network.Join("b").Serve(later)
			require.NoError(t, err)
			synctest.Wait()
			stop()
			assert.Empty(t, later.lost)
		}
	})
}

// Heartbeats that have arrived, or were lost with the handler, take no room.
func TestTheRoomOfHeartbeatsIsGivenBack(t *testing.T) {
	for name, leaves := range map[string]bool{"arrived": false, "lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network, b := rpc.NewNetwork(1), new(listener)
				network.SetAll(rpc.Link{Delay: time.Second})
				a := network.Join("a")
				stop, err := network.Join("b").Serve(b)
				require.NoError(t, err)
				a.Send("b", []rpc.Message{{Body: rpc.Body{Kind: rpc.Heartbeat}}})
				if leaves {
					stop()
					stop, err = network.Join("b").Serve(b)
					require.NoError(t, err)
				} else {
					<-time.After(2 * time.Second)
				}
				before := network.Lost()
				votes := make([]rpc.Message, 1<<16+1)
				for i := range votes {
					votes[i].Kind = rpc.VoteRequest
				}
				a.Send("b", votes)
				assert.Equal(t, before+1, network.Lost(), "there is no heartbeat to displace")
				stop()
			})
		})
	}
}

func TestHeartbeatsDisplaceNoHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), new(listener)
		network.SetAll(rpc.Link{Delay: time.Second})
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		beats := make([]rpc.Message, 1<<16+1)
		for i := range beats {
			beats[i].Kind, beats[i].Round = rpc.Heartbeat, uint32(i)
		}
		network.Join("a").Send("b", beats)
		<-time.After(2 * time.Second)
		stop()
		assert.Contains(t, b.rounds, uint32(0))
		assert.NotContains(t, b.rounds, uint32(1<<16))
	})
}

func TestVotesDisplaceHeartbeatsWhenThereIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := rpc.NewNetwork(1)
		network.SetAll(rpc.Link{Delay: time.Second})
		b := new(listener)
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		beats := make([]rpc.Message, 1<<16+10)
		for i := range beats {
			beats[i].Kind = rpc.Heartbeat
		}
		a := network.Join("a")
		a.Send("b", beats)
		a.Send("b", []rpc.Message{{Body: rpc.Body{Kind: rpc.VoteRequest, Round: 9}}})
		<-time.After(2 * time.Second)
		stop()
		assert.Len(t, b.rounds, 1<<16)
		assert.Contains(t, b.rounds, uint32(9))
		assert.EqualValues(t, 11, network.Lost())
	})
}

// When no heartbeat is left, the new vote is dropped.
func TestVotesDisplaceNoVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := rpc.NewNetwork(1)
		network.SetAll(rpc.Link{Delay: time.Second})
		b := new(listener)
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		batch := make([]rpc.Message, 1<<16)
		for i := range batch {
			batch[i].Kind = rpc.VoteRequest
		}
		batch[0].Kind, batch[1].Kind = rpc.Heartbeat, rpc.HeartbeatResponse
		a := network.Join("a")
		a.Send("b", batch)
		for round := uint32(1); round <= 3; round++ {
			a.Send("b", []rpc.Message{{Body: rpc.Body{Kind: rpc.VoteRequest, Round: round}}})
		}
		<-time.After(2 * time.Second)
		stop()
		assert.Len(t, b.rounds, 1<<16)
		assert.Contains(t, b.rounds, uint32(2))
		assert.NotContains(t, b.rounds, uint32(3))
		assert.EqualValues(t, 3, network.Lost())
	})
}

// echo returns one token for every message, which bounds the messages on their way.
type echo struct{ tokens chan struct{} }

func (e echo) Receive(batch []rpc.Message) {
	for range batch {
		e.tokens <- struct{}{}
	}
}

func (e echo) PeerLost(string) {}

func BenchmarkNetwork(b *testing.B) {
	network, window := rpc.NewNetwork(1), echo{make(chan struct{}, 100)}
	for range cap(window.tokens) {
		window.tokens <- struct{}{}
	}
	stop, err := network.Join("b").Serve(window)
	require.NoError(b, err)
	a, batch := network.Join("a"), make([]rpc.Message, 1)
	b.ReportAllocs()
	for b.Loop() {
		<-window.tokens
		a.Send("b", batch)
	}
	stop()
}
