// A silent connection is closed in time, and not before. The tests run in virtual time.

package grpcrpc

import (
	"context"
	"io"
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
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/hustings/hustings/proto/electorpb"
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
func serveCaller(t *testing.T, falls bool, has ...grpc.DialOption) (within time.Duration) {
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
	conn, err := grpc.NewClient("passthrough:///b", append(has, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return caller, nil }))...)
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

// It is refused before its time as a stranger is over, so that somebody sees what is wrong.
func TestACallerThatStopsInItsHandshakeIsRefusedInTime(t *testing.T) {
	_, files, _ := filesOf(t)
	synctest.Test(t, func(t *testing.T) {
		h := newPipeListener()
		tr, err := New(Config{Self: "a", Listener: h, TLS: &files, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		stop, err := tr.Serve(new(losses))
		require.NoError(t, err)
		ours, theirs := net.Pipe()
		h.visits <- theirs
		began := time.Now()
		const handshake = 22 // the first byte of a TLS record
		_, err = ours.Write([]byte{handshake})
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, ours)
		assert.Equal(t, handshakeTime, time.Since(began))
		synctest.Wait()
		assert.EqualValues(t, 1, tr.Stats().Refused[RefusedHandshake])
		stop()
		tr.Close()
		require.NoError(t, ours.Close())
	})
}

func TestAnIdleCallerIsDisconnectedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { assert.Equal(t, idleTime, serveCaller(t, false)) })
}

// Operators ping the node, as peers do. gRPC takes frequent pings for an attack unless it is told otherwise.
func TestAnIdleCallerThatPingsIsDisconnectedNoEarlier(t *testing.T) {
	pings := grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: aliveEvery, Timeout: aliveWithin, PermitWithoutStream: true})
	synctest.Test(t, func(t *testing.T) { assert.Equal(t, idleTime, serveCaller(t, false, pings)) })
}

// Nodes whose groups are all at rest have nothing to send, and must still hear at once when the other's
// process has died. So their connection lasts, however long it is idle.
func TestAnIdlePeerStaysConnected(t *testing.T) {
	address := open(t)
	synctest.Test(t, func(t *testing.T) {
		h, told := newPipeListener(), new(losses)
		tr, err := New(Config{Self: "b", Listener: h, Peers: map[string]string{"a": address}, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		stop, err := tr.Serve(told)
		require.NoError(t, err)
		ours, theirs := net.Pipe()
		go func() { h.visits <- theirs }()
		conn, err := dial(address, insecure.NewCredentials(), func(c net.Conn) net.Conn {
			assert.NoError(t, c.Close())
			return ours
		})
		require.NoError(t, err)
		s, err := electorpb.NewMemberServiceClient(conn).Exchange(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.Send(hello("a", "b", 7)))
		p, err := s.Recv()
		require.NoError(t, err)
		require.Equal(t, "b", p.GetHello().GetFrom())
		require.NoError(t, s.Send(confirm()))
		synctest.Wait()
		require.True(t, tr.Connected()["a"])
		<-time.After(time.Hour)
		synctest.Wait()
		assert.True(t, tr.Connected()["a"])
		assert.EqualValues(t, 1, tr.Stats().Connected)
		assert.Empty(t, *told)
		stop()
		tr.Close()
		require.NoError(t, conn.Close())
	})
}
