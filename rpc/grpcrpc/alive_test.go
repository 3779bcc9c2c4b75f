// A silent connection is closed in time, and not before. The tests run in virtual time.

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

// silent is a connection whose other end may fall silent: it still reads, but its writes get
// nowhere.
type silent struct {
	net.Conn
	fell   atomic.Bool
	hungUp chan struct{} // closed when the connection was closed
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

// A connection in a synctest bubble must be a pipe. So dial connects to a real address, and the
// test replaces the connection.
func TestASilentPeerIsDisconnectedInTime(t *testing.T) {
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

// pipeListener is a listener, with an address on loopback, to which a test passes connections.
type pipeListener struct {
	visits chan net.Conn
	close  func()
}

func newPipeListener() *pipeListener {
	h := &pipeListener{visits: make(chan net.Conn)}
	h.close = sync.OnceFunc(func() { close(h.visits) })
	return h
}

func (h *pipeListener) Accept() (net.Conn, error) {
	if c, open := <-h.visits; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (h *pipeListener) Close() error { h.close(); return nil }
func (*pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// serveCaller lets a caller make one call, and returns when the caller's connection was closed
// after that.
func serveCaller(t *testing.T, falls bool) (within time.Duration) {
	t.Helper()
	h := newPipeListener()
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
	caller.fell.Store(falls)
	began := time.Now()
	<-caller.hungUp
	within = time.Since(began)
	require.NoError(t, conn.Close())
	stop()
	tr.Close()
	return within
}

func TestASilentCallerIsDisconnectedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { assert.Equal(t, aliveEvery+aliveWithin, serveCaller(t, true)) })
}

func TestAnIdleCallerIsDisconnectedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { assert.Equal(t, idleTime, serveCaller(t, false)) })
}
