// What happens in the network in memory while a handler is busy.

package rpc_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// slowest is a listener that hears each batch only when it may.
type slowest struct {
	listener
	hear chan struct{}
}

func (s *slowest) Receive(batch []rpc.Message) {
	<-s.hear
	s.listener.Receive(batch)
}

// It does not wait for what is sent after it.
func TestWhatIsSentToABusyHandlerArrivesWhenThatHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), &slowest{hear: make(chan struct{})}
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		synctest.Wait() // it waits for messages
		for round := range uint32(2) {
			network.Join("a").Send("b", []rpc.Message{{Body: rpc.Body{Round: round}}})
			synctest.Wait()
		}
		close(b.hear)
		synctest.Wait()
		assert.Equal(t, []uint32{0, 1}, b.rounds)
		stop()
	})
}

// Whoever has stopped the handler may free what that uses.
func TestEachStopWaitsForTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, b := rpc.NewNetwork(1), &slowest{hear: make(chan struct{})}
		stop, err := network.Join("b").Serve(b)
		require.NoError(t, err)
		network.Join("a").Send("b", make([]rpc.Message, 1))
		synctest.Wait()
		stopped := make(chan struct{}, 2)
		for range 2 {
			go func() { stop(); stopped <- struct{}{} }()
			synctest.Wait()
			assert.Empty(t, stopped, "the handler has not returned")
		}
		close(b.hear)
		synctest.Wait()
		assert.Len(t, stopped, 2)
	})
}
