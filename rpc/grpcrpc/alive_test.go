// A connection that has fallen silent is given up in time, and not before: in virtual time.

package grpcrpc

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// silent is a connection whose other end may fall silent: it takes all that comes, and what
// it says gets nowhere.
type silent struct {
	net.Conn
	fell   atomic.Bool
	hungUp chan struct{} // closed when this side has hung up
	once   sync.Once
}

func (s *silent) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if err != nil {
		s.once.Do(func() { close(s.hungUp) })
	}
	return n, err
}

func (s *silent) Write(b []byte) (int, error) {
	if s.fell.Load() {
		return len(b), nil
	}
	return s.Conn.Write(b)
}

// The connection of a bubble is a pipe. What is dialled is an address that takes connections.
func TestAPeerThatFallsSilentIsGivenUpInTime(t *testing.T) {
	address := open(t)
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		conn, err := dial(address, insecure.NewCredentials(), func(c net.Conn) net.Conn {
			assert.NoError(t, c.Close())
			return ours
		})
		require.NoError(t, err)
		conn.Connect()
		const settings = 4
		go func() { _, _ = theirs.Write(frameOf(settings, 0, 0, 0)) }()
		began := time.Now()
		_, _ = io.Copy(io.Discard, theirs)
		assert.Equal(t, aliveEvery+aliveWithin, time.Since(began))
		require.NoError(t, conn.Close())
	})
}

// hall is a listener on loopback, by its address, to which a test brings connections.
type hall struct {
	visits chan net.Conn
	close  func()
}

func newHall() *hall {
	h := &hall{visits: make(chan net.Conn)}
	h.close = sync.OnceFunc(func() { close(h.visits) })
	return h
}

func (h *hall) Accept() (net.Conn, error) {
	if c, open := <-h.visits; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (h *hall) Close() error { h.close(); return nil }
func (*hall) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func TestACallerThatFallsSilentIsGivenUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		tr, err := New(Config{Self: "b", Listener: h})
		require.NoError(t, err)
		grpc_health_v1.RegisterHealthServer(tr.Registrar(), health.NewServer())
		stop, err := tr.Serve(new(losses))
		require.NoError(t, err)
		ours, theirs := net.Pipe()
		caller := &silent{Conn: ours, hungUp: make(chan struct{})}
		go func() { h.visits <- theirs }()
		conn, err := grpc.NewClient("passthrough:///b", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return caller, nil }))
		require.NoError(t, err)
		_, err = grpc_health_v1.NewHealthClient(conn).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
		require.NoError(t, err)
		synctest.Wait()
		caller.fell.Store(true)
		began := time.Now()
		<-caller.hungUp
		assert.Equal(t, aliveEvery+aliveWithin, time.Since(began))
		require.NoError(t, conn.Close())
		stop()
		tr.Close()
	})
}
