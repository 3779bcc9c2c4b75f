// When a handler is called, and that nothing calls it any more once it has been stopped.

package grpcrpc

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// nodeB is a transport without a handler.
func nodeB(t *testing.T) *Transport {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tr, err := New(Config{Self: "b", Listener: listener})
	require.NoError(t, err)
	t.Cleanup(tr.Close)
	return tr
}

// callsOf are all ways in which a transport calls its handler.
func callsOf(tr *Transport) map[string]func() {
	return map[string]func(){
		"messages": func() { tr.deliver(make([]rpc.Message, 1)) },
		"a beat":   func() { tr.deliverBeat(new(rpc.Beat)) },
		"a loss":   func() { tr.reportLost("a", "its connection broke") },
	}
}

// together is a handler that must be called twice at the same time.
type together struct{ within atomic.Int32 }

func (h *together) Receive([]rpc.Message) { h.call() }
func (h *together) ReceiveBeat(*rpc.Beat) { h.call() }
func (h *together) PeerLost(string)       { h.call() }

func (h *together) call() {
	h.within.Add(1)
	for range 1_000_000 { // time for the other call
		if h.within.Load() == 2 {
			return
		}
		runtime.Gosched()
	}
}

// While a handler is busy with what one peer has sent, it is called for other peers.
func TestTheHandlerIsCalledForSeveralPeersAtOnce(t *testing.T) {
	tr := nodeB(t)
	for what, calls := range callsOf(tr) {
		h := new(together)
		stop, err := tr.Serve(h)
		require.NoError(t, err)
		var delivering sync.WaitGroup
		for range 2 {
			delivering.Go(func() {
				calls()
				assert.EqualValues(t, 2, h.within.Load(), "one call waited for the other: %s", what)
			})
		}
		delivering.Wait()
		stop()
	}
}

// held is a handler that looks whether it could be stopped while it is called.
type held struct {
	by    *Transport
	calls int
	free  bool
}

func (h *held) Receive([]rpc.Message) { h.call() }
func (h *held) ReceiveBeat(*rpc.Beat) { h.call() }
func (h *held) PeerLost(string)       { h.call() }

func (h *held) call() {
	h.calls++
	if h.by.handling.TryLock() {
		h.free = true
		h.by.handling.Unlock()
	}
}

// Once stop has returned, no call of the handler is under way, whatever it is about.
func TestStopWaitsForEveryCallOfTheHandler(t *testing.T) {
	tr := nodeB(t)
	for what, call := range callsOf(tr) {
		h := &held{by: tr}
		stop, err := tr.Serve(h)
		require.NoError(t, err)
		call()
		stop()
		assert.Equal(t, 1, h.calls, what)
		assert.False(t, h.free, "stop does not wait for %s", what)
	}
}

// leaving is a handler that returns when it may.
type leaving struct {
	losses
	entered, leave chan struct{}
}

func (h *leaving) Receive([]rpc.Message) {
	close(h.entered)
	<-h.leave
}

// Whoever has stopped the handler may free what that uses.
func TestEachStopWaitsForTheHandler(t *testing.T) {
	tr := nodeB(t)
	h := &leaving{entered: make(chan struct{}), leave: make(chan struct{})}
	stop, err := tr.Serve(h)
	require.NoError(t, err)
	var calls sync.WaitGroup
	calls.Go(func() { tr.deliver(make([]rpc.Message, 1)) })
	<-h.entered
	var stopped atomic.Int32
	for range 2 {
		calls.Go(func() { stop(); stopped.Add(1) })
	}
	for range 100_000 { // time for a stop that does not wait
		runtime.Gosched()
	}
	assert.Zero(t, stopped.Load(), "the handler has not returned")
	close(h.leave)
	calls.Wait()
}
