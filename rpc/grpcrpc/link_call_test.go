// A link and the peer that it calls, in virtual time: what the peer answers, and for how long the link
// waits for that.

package grpcrpc

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
)

// called is a peer that is called. It answers the Hello, and is silent until the link or the test ends
// the exchange.
type called struct {
	electorpb.MemberServiceClient
	answer *electorpb.Hello // nil: none
	meter  *meter
	ctx    chan context.Context // receives that of the exchange, if not nil
}

func (c called) Exchange(ctx context.Context, _ ...grpc.CallOption) (electorpb.MemberService_ExchangeClient, error) {
	if c.ctx != nil {
		c.ctx <- ctx
	}
	of := &peer.Peer{AuthInfo: handshake{meter: c.meter}}
	return &answered{ctx: peer.NewContext(ctx, of), answer: c.answer}, nil
}

// answered is the calling side of an exchange with that peer.
type answered struct {
	electorpb.MemberService_ExchangeClient
	ctx context.Context

	mu     sync.Mutex
	answer *electorpb.Hello // what comes next
	sent   []*electorpb.Packet
}

func (a *answered) Context() context.Context { return a.ctx }

func (a *answered) Send(p *electorpb.Packet) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = append(a.sent, p)
	return nil
}

func (a *answered) RecvMsg(into any) error {
	a.mu.Lock()
	answer := a.answer
	a.answer = nil
	a.mu.Unlock()
	if answer != nil {
		into.(*incoming).packet.Content = &electorpb.Packet_Hello{Hello: answer}
		return nil
	}
	<-a.ctx.Done()
	return status.FromContextError(a.ctx.Err()).Err()
}

// calling is a link of node a to that peer, within a bubble.
func calling(t *testing.T) (l *link, told *losses) {
	t.Helper()
	tr, err := New(Config{Self: "a", Listener: newPipeListener(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(tr.Close)
	told = new(losses)
	stop, err := tr.Serve(told)
	require.NoError(t, err)
	t.Cleanup(stop)
	return newLink(tr, "b", "127.0.0.1:1"), told
}

// begins begins an exchange in which a process of the peer answers.
func begins(t *testing.T, l *link, answer *electorpb.Hello) (over <-chan error) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { assert.NoError(t, theirs.Close()) })
	ended := make(chan error, 1)
	go func() { ended <- l.exchange(called{answer: answer, meter: newMeter(ours, nil)}) }()
	synctest.Wait()
	return ended
}

// endExchange ends the exchange that a link carries.
func (l *link) endExchange() {
	l.mu.Lock()
	c := l.current
	l.mu.Unlock()
	c.hangUp(status.Error(codes.Unavailable, "the connection broke"))
}

// The time for the Hellos is over when they have been exchanged. A connection may be idle for much longer.
func TestAConnectionLastsLongerThanTheHellosMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, told := calling(t)
		over := begins(t, l, &electorpb.Hello{From: "b", Incarnation: 7})
		require.True(t, l.connected())
		<-time.After(100 * handshakeTime)
		synctest.Wait()
		assert.True(t, l.connected())
		assert.Empty(t, over)
		assert.Empty(t, *told)
		l.cancel()
		assert.Equal(t, codes.Canceled, status.Code(<-over))
	})
}

// Otherwise the peer would not be called again.
func TestAPeerThatAnswersNothingIsLeftInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := calling(t)
		began := time.Now()
		assert.Equal(t, codes.Canceled, status.Code(<-begins(t, l, nil)))
		assert.Equal(t, handshakeTime, time.Since(began))
		assert.False(t, l.connected())
	})
}

// A peer that is called again and again, in vain, must not cost memory each time: a context that is never
// ended stays with the link.
func TestAnExchangeThatHasFailedLeavesNothingBehind(t *testing.T) {
	l, _ := linkTo(t)
	c := called{answer: &electorpb.Hello{From: "x"}, ctx: make(chan context.Context, 1)}
	require.ErrorContains(t, l.exchange(c), `it is "x"`)
	assert.Error(t, (<-c.ctx).Err())
}

// counting is a context that counts what waits for its end.
type counting struct {
	context.Context
	waiting atomic.Int32
}

func (*counting) Value(any) any { return nil } // so that package context calls AfterFunc

func (c *counting) AfterFunc(f func()) (stop func() bool) {
	c.waiting.Add(1)
	forget := context.AfterFunc(c.Context, f)
	return func() bool {
		c.waiting.Add(-1)
		return forget()
	}
}

// Nor must one that has connected each time, for as long as it is a peer.
func TestAConnectionThatIsOverLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := calling(t)
		ends := &counting{Context: l.ctx}
		l.ctx = ends
		for range 3 {
			over := begins(t, l, &electorpb.Hello{From: "b", Incarnation: 7})
			assert.NotZero(t, ends.waiting.Load())
			l.endExchange()
			require.Error(t, <-over)
			assert.Zero(t, ends.waiting.Load())
		}
		l.cancel()
	})
}

// The side that calls knows by itself in which order the processes have answered, so that no Confirm of
// theirs is needed. One that was heard before the last one proves that both run, and is no restart.
func TestTwoProcessesOfThePeerThatIsCalledAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, told := calling(t)
		for _, step := range []struct {
			incarnation, two uint64
			told             losses
		}{{7, 0, nil}, {7, 0, nil}, {8, 0, losses{"b"}}, {8, 0, losses{"b"}}, {7, 1, losses{"b"}}, {8, 2, losses{"b"}}, {9, 2, losses{"b", "b"}}} {
			over := begins(t, l, &electorpb.Hello{From: "b", Incarnation: step.incarnation})
			assert.True(t, l.connected())
			assert.Equal(t, step.two, l.transport.Stats().TwoProcesses, "%d", step.incarnation)
			assert.Equal(t, step.told, *told, "%d", step.incarnation)
			l.endExchange()
			assert.Equal(t, codes.Unavailable, status.Code(<-over))
		}
		assert.EqualValues(t, 7, l.transport.Stats().Connected)
		l.cancel()
	})
}
