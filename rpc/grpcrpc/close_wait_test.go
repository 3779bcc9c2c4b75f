// What Close waits for, and what it closes.

package grpcrpc

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// lingering is a service whose calls last until the test lets them go, even if the caller is gone.
type lingering struct {
	grpc_health_v1.UnimplementedHealthServer
	entered, leave chan struct{}
}

func (s lingering) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	close(s.entered)
	<-s.leave
	return new(grpc_health_v1.HealthCheckResponse), nil
}

// A service commands its node, which is closed after the transport. So no call may outlive Close.
func TestCloseWaitsForTheCallsOfOperators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newPipeListener()
		tr, err := New(Config{Self: "b", Listener: h, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		s := lingering{entered: make(chan struct{}), leave: make(chan struct{})}
		grpc_health_v1.RegisterHealthServer(tr.Registrar(), s)
		stop, err := tr.Serve(new(losses))
		require.NoError(t, err)
		ours, theirs := net.Pipe()
		var running sync.WaitGroup
		running.Go(func() { h.visits <- theirs })
		conn, err := grpc.NewClient("passthrough:///b", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return ours, nil }))
		require.NoError(t, err)
		running.Go(func() {
			_, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
			assert.Error(t, err)
		})
		<-s.entered
		stop()
		closed := make(chan struct{})
		running.Go(func() {
			defer close(closed)
			tr.Close()
		})
		synctest.Wait()
		select {
		case <-closed:
			assert.Fail(t, "Close has returned")
		default:
		}
		close(s.leave)
		running.Wait()
		require.NoError(t, conn.Close())
	})
}

// stuck is a stream whose Send lasts until the test lets it go, even if the stream has ended.
type stuck struct {
	unconfirmed
	entered, leave chan struct{}
}

func (s stuck) Send(*electorpb.Packet) error {
	close(s.entered)
	<-s.leave
	return io.EOF
}

// A goroutine that outlives Close would count and log after that.
func TestCloseWaitsForTheSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := calling(t)
		s := stuck{unconfirmed{ctx: l.ctx}, make(chan struct{}), make(chan struct{})}
		over, closed := make(chan error, 1), make(chan struct{})
		go func() { over <- l.carry(l.ctx, s, &connection{number: l.number(), incarnation: 7}) }()
		synctest.Wait()
		l.queue.put([]rpc.Message{vote(1)})
		<-s.entered
		go func() {
			defer close(closed)
			l.transport.Close()
		}()
		assert.Equal(t, codes.Canceled, status.Code(<-over))
		synctest.Wait()
		select {
		case <-closed:
			assert.Fail(t, "Close has returned")
		default:
		}
		close(s.leave)
		<-closed
	})
}

// Then the server has not taken over the listener.
func TestCloseClosesTheListenerOfATransportThatWasNotUsed(t *testing.T) {
	h := newPipeListener()
	tr, err := New(Config{Self: "b", Listener: h})
	require.NoError(t, err)
	tr.Close()
	select {
	case _, open := <-h.visits:
		assert.False(t, open)
	default:
		assert.Fail(t, "the listener is open")
	}
}

// closing is a listener that calls a function before it is closed.
type closing struct {
	net.Listener
	before func()
}

func (c closing) Close() error {
	c.before()
	return c.Listener.Close()
}

// A peer whose connection breaks probes this process at once. If it could still connect, it would wait for the silence.
func TestCloseRefusesProbesBeforeItEndsConnections(t *testing.T) {
	open := make(chan bool, 1)
	var tr *Transport
	var err error
	before := sync.OnceFunc(func() {
		tr.guard.mu.Lock()
		defer tr.guard.mu.Unlock()
		open <- tr.ctx.Err() == nil && !tr.guard.shut
	})
	tr, err = New(Config{Self: "b", Listener: closing{newPipeListener(), before}})
	require.NoError(t, err)
	stop, err := tr.Serve(new(losses))
	require.NoError(t, err)
	stop()
	tr.Close()
	assert.True(t, <-open, "connections have been ended before")
}

// Nothing would wait for what starts after Close.
func TestATransportThatIsClosedStartsNothing(t *testing.T) {
	tr, err := New(Config{Self: "b", Listener: newPipeListener(), Peers: map[string]string{"c": "127.0.0.1:1"}})
	require.NoError(t, err)
	tr.Close()
	tr.Send("c", []rpc.Message{vote(1)})
	tr.SendBeat("c", new(rpc.Beat))
	_, err = tr.Serve(new(losses))
	require.ErrorContains(t, err, "closed")
	assert.False(t, tr.started)
}
