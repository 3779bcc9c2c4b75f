// Beats over the network in memory: for its links they are messages like any other.

package rpc_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// beatListener is a listener that records beats, too.
type beatListener struct {
	listener
	beats []*rpc.Beat
	heard time.Time // when the last one came
	early int       // beats that came before the first message
}

func (l *beatListener) ReceiveBeat(b *rpc.Beat) {
	l.beats, l.heard = append(l.beats, b), time.Now()
	if len(l.rounds) == 0 {
		l.early++
	}
}

func (l *beatListener) numbers() (all []uint64) {
	for _, b := range l.beats {
		all = append(all, b.Number)
	}
	return all
}

// sendBeat sends a beat from a to b.
func sendBeat(network *rpc.Network, number uint64) {
	network.Join("a").(rpc.BeatTransport).SendBeat("b", &rpc.Beat{Number: number})
}

// beatsOver sends n beats from a to b, one a millisecond, and returns the numbers in the order in which
// b heard them within a second.
func beatsOver(t *testing.T, l rpc.Link, n int) (numbers []uint64, lost uint64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), new(beatListener)
		network.SetLink("a", "b", l)
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		for i := range n {
			sendBeat(network, uint64(i))
			<-time.After(time.Millisecond)
		}
		<-time.After(time.Second)
		stop()
		numbers, lost = b.numbers(), network.Lost()
	})
	return numbers, lost
}

func TestLinksDoToBeatsWhatTheyDoToMessages(t *testing.T) {
	numbers, lost := beatsOver(t, rpc.Link{Delay: time.Millisecond, Jitter: 20 * time.Millisecond}, 100)
	assert.Len(t, numbers, 100)
	assert.True(t, slices.IsSorted(numbers))
	assert.Zero(t, lost)

	numbers, lost = beatsOver(t, rpc.Link{Loss: 0.5}, 1000)
	assert.Len(t, numbers, 1000-int(lost))
	assert.InDelta(t, 500, len(numbers), 100)

	numbers, _ = beatsOver(t, rpc.Link{Duplicate: 0.5}, 1000)
	assert.InDelta(t, 1500, len(numbers), 100)
	assert.Len(t, slices.Compact(numbers), 1000)

	numbers, _ = beatsOver(t, rpc.Link{Delay: 5 * time.Millisecond, Reorder: 0.1}, 1000)
	assert.Len(t, numbers, 1000)
	assert.False(t, slices.IsSorted(numbers))

	numbers, lost = beatsOver(t, rpc.Link{Cut: true}, 10)
	assert.Empty(t, numbers)
	assert.EqualValues(t, 10, lost)
}

func TestABeatTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), new(beatListener)
		network.SetAll(rpc.Link{Delay: time.Second})
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		sent := time.Now()
		sendBeat(network, 1)
		<-time.After(2 * time.Second)
		stop()
		assert.Len(t, b.beats, 1)
		assert.Equal(t, time.Second, b.heard.Sub(sent))
	})
}

// The handler may keep each of them, and change it.
func TestABeatThatArrivesTwiceIsTwoBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), new(beatListener)
		network.SetAll(rpc.Link{Duplicate: 1})
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		sent := &rpc.Beat{Number: 1, Leavings: []rpc.Leaving{{Number: 7}}}
		network.Join("a").(rpc.BeatTransport).SendBeat("b", sent)
		synctest.Wait()
		stop()
		require.Len(t, b.beats, 2)
		b.beats[0].Number, b.beats[0].Leavings[0].Number = 2, 8
		assert.Equal(t, &rpc.Beat{Number: 1, Leavings: []rpc.Leaving{{Number: 7}}}, b.beats[1])
	})
}

// A handler that is slow finds the beat before the messages that wait.
func TestABeatThatHasArrivedGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), new(beatListener)
		network.SetAll(rpc.Link{Delay: time.Second})
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		network.Join("a").Send("b", make([]rpc.Message, 3))
		sendBeat(network, 1)
		<-time.After(2 * time.Second)
		stop()
		assert.Len(t, b.rounds, 3)
		assert.Equal(t, 1, b.early)
	})
}

func TestABeatThatNobodyTakesIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), new(listener)
		network.SetAll(rpc.Link{Delay: time.Second})
		sendBeat(network, 1)
		assert.EqualValues(t, 1, network.Lost(), "no such node")
		node := network.Join("b")
		sendBeat(network, 2)
		assert.EqualValues(t, 2, network.Lost(), "b is not served")
		stop, err := node.Serve(b)
		require.NoError(t, err)
		sendBeat(network, 3)
		assert.EqualValues(t, 3, network.Lost(), "b takes no beats")
		stop()
		later := new(beatListener)
		stop, err = node.Serve(later)
		require.NoError(t, err)
		sendBeat(network, 4)
		stop()
		assert.EqualValues(t, 4, network.Lost(), "it was on its way")
		assert.Empty(t, later.beats)
	})
}

// fullNetwork is a network with no room for anything more to b, where everything arrives a second later.
func fullNetwork(t *testing.T, b rpc.Handler, of rpc.Kind) (network *rpc.Network, stop func()) {
	t.Helper()
	network = rpc.NewNetwork(1)
	network.SetAll(rpc.Link{Delay: time.Second})
	stop, err := network.Join("b").Serve(b)
	require.NoError(t, err)
	batch := make([]rpc.Message, 1<<16)
	for i := range batch {
		batch[i].Kind = of
	}
	network.Join("a").Send("b", batch)
	require.Zero(t, network.Lost())
	return network, stop
}

func TestBeatsDisplaceHeartbeatsAndAreNotDisplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(beatListener)
		network, stop := fullNetwork(t, b, rpc.Heartbeat)
		const beats = 10
		for number := range uint64(beats) {
			sendBeat(network, number)
		}
		assert.EqualValues(t, beats, network.Lost(), "a heartbeat for each")
		votes := make([]rpc.Message, 1<<16)
		for i := range votes {
			votes[i].Kind = rpc.VoteRequest
		}
		network.Join("a").Send("b", votes)
		network.Join("a").Send("b", []rpc.Message{{Body: rpc.Body{Kind: rpc.Heartbeat}}})
		<-time.After(2 * time.Second)
		stop()
		assert.Len(t, b.beats, beats)
		assert.Len(t, b.rounds, 1<<16-beats)
	})
}

func TestBeatsDisplaceNoVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(beatListener)
		network, stop := fullNetwork(t, b, rpc.VoteRequest)
		sendBeat(network, 1)
		assert.EqualValues(t, 1, network.Lost())
		<-time.After(2 * time.Second)
		sendBeat(network, 2)
		<-time.After(2 * time.Second)
		stop()
		assert.Equal(t, []uint64{2}, b.numbers())
		assert.Len(t, b.rounds, 1<<16)
	})
}
