// Conclusions of a link that depend on an order of events that a test cannot cause from
// outside.

package grpcrpc

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// losses is a handler that records lost peers.
type losses []string

func (l *losses) Receive([]rpc.Message) {}
func (l *losses) PeerLost(node string)  { *l = append(*l, node) }

// linkTo is a link of node b to node a that does not run, and the losses that it reports.
func linkTo(t *testing.T) (*link, *losses) {
	t.Helper()
	tr, told := nodeB(t), new(losses)
	stop, err := tr.Serve(told)
	require.NoError(t, err)
	t.Cleanup(stop)
	return newLink(tr, "a", "127.0.0.1:1"), told
}

// connect lets a process of the peer connect.
func connect(t *testing.T, l *link, incarnation uint64) *connection {
	t.Helper()
	c := &connection{number: l.number(), incarnation: incarnation, confirmed: true, hangUp: func(error) {}}
	require.NoError(t, l.begin(c))
	return c
}

// A probe may report a refusal after the peer has connected again.
func TestALateRefusalChangesNothing(t *testing.T) {
	l, told := linkTo(t)
	first := connect(t, l, 7)
	l.end(first)
	broken := l.suspected()
	second := connect(t, l, 7) // only the connection had broken
	l.gone(broken)
	assert.Empty(t, *told)
	l.end(second)
	l.gone(broken)
	assert.Empty(t, *told, "a refusal before the second connection says nothing about its end")
	connect(t, l, 8)
	assert.Equal(t, losses{"a"}, *told, "a new incarnation is reported")
}

func TestTheLossOfARemovedPeerIsNotReported(t *testing.T) {
	l, told := linkTo(t)
	l.end(connect(t, l, 7))
	l.cancel()
	l.gone(l.suspected())
	assert.Empty(t, *told)
}

func TestALossIsNotReportedAgainWhenTheNextProcessConnects(t *testing.T) {
	l, told := linkTo(t)
	l.end(connect(t, l, 7))
	l.gone(l.suspected())
	connect(t, l, 8)
	assert.Equal(t, losses{"a"}, *told)
}

// A peer that is away is called, and probed, again and again.
func TestALossIsReportedOnceHoweverOftenThePeerIsProbed(t *testing.T) {
	l, told := linkTo(t)
	l.address = deaf(t)
	assert.True(t, l.probePeer())
	assert.Empty(t, *told, "it was never connected")
	l.end(connect(t, l, 7))
	for range 3 {
		assert.True(t, l.probePeer(), "it is known to be gone")
	}
	assert.Equal(t, losses{"a"}, *told)
	l.end(connect(t, l, 8))
	assert.True(t, l.probePeer())
	assert.Equal(t, losses{"a", "a"}, *told, "the next process is another loss")
}

// A handler that was stopped is told nothing.
func TestALossWithoutAHandlerIsNoError(t *testing.T) {
	l, told := linkTo(t)
	l.transport.handling.Lock()
	l.transport.handler = nil
	l.transport.handling.Unlock()
	l.end(connect(t, l, 7))
	l.gone(l.suspected())
	assert.Empty(t, *told)
	assert.Nil(t, l.suspected())
}

// deaf is an address of this machine that refuses connections.
func deaf(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// open is an address of this machine that accepts connections and keeps them.
func open(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l.Addr().String() // the operating system accepts connections by itself
}

// A name may stand for several addresses.
func TestAPeerIsGoneWhenAllItsAddressesRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		targets    []string
		here, gone bool
	}{
		"no address":            {nil, false, false},
		"one refuses":           {[]string{deaf(t)}, false, true},
		"both refuse":           {[]string{deaf(t), deaf(t)}, false, true},
		"the second accepts":    {[]string{deaf(t), open(t)}, true, false},
		"no route to one":       {[]string{"224.0.0.1:1", deaf(t)}, false, true},
		"no route to the other": {[]string{deaf(t), "224.0.0.1:1"}, false, true},
		"no route at all":       {[]string{"224.0.0.1:1"}, false, false},
		"one cannot be called":  {[]string{deaf(t), "127.0.0.1:99999"}, false, false},
		"nor can the first":     {[]string{"127.0.0.1:99999", deaf(t)}, false, false},
	} {
		here, gone := probeAll(t.Context(), c.targets)
		assert.Equal(t, [2]bool{c.here, c.gone}, [2]bool{here, gone}, name)
	}
	here, gone := probe(t.Context(), open(t))
	assert.Equal(t, [2]bool{true, false}, [2]bool{here, gone})
	here, gone = probe(t.Context(), portOf(t, open(t)))
	assert.Equal(t, [2]bool{true, false}, [2]bool{here, gone}, "without a host it is this machine")
	here, _ = probe(t.Context(), "127.0.0.2"+portOf(t, open(t)))
	assert.False(t, here, "a process has this port, but at another address")
	here, gone = probe(t.Context(), deaf(t))
	assert.Equal(t, [2]bool{false, true}, [2]bool{here, gone})
	here, gone = probe(t.Context(), "no..name:1")
	assert.Equal(t, [2]bool{false, false}, [2]bool{here, gone}, "a name server may have forgotten it for a moment")
	here, gone = probe(t.Context(), "no port")
	assert.Equal(t, [2]bool{false, false}, [2]bool{here, gone})
}

// The peer may live on a machine that cannot be reached for a moment.
func TestAnAddressWithoutAnAnswerIsDoubtful(t *testing.T) {
	for err, want := range map[error][2]bool{
		syscall.ECONNREFUSED: {true, false}, syscall.ENETUNREACH: {false, false}, syscall.EADDRNOTAVAIL: {false, false},
		syscall.EAFNOSUPPORT: {false, false}, syscall.EHOSTUNREACH: {false, true}, syscall.ETIMEDOUT: {false, true}, nil: {false, true},
	} {
		refuses, doubtful := meaning(err)
		assert.Equal(t, want, [2]bool{refuses, doubtful}, err)
	}
}

// A server without TLS sends its settings at once, and not only when it is spoken to. A probe leaves
// no connection behind.
func TestAPeerThatSpeaksFirstIsHere(t *testing.T) {
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	left := make(chan error, 1)
	go func() {
		c, err := peer.Accept()
		if err != nil {
			left <- err
			return
		}
		defer c.Close() //nolint:errcheck // the other side has closed it
		_, _ = c.Write([]byte{0})
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second)) // only a failing test waits that long
		_, err = c.Read(make([]byte, 1))
		left <- err
	}()
	here, gone := probe(t.Context(), peer.Addr().String())
	assert.Equal(t, [2]bool{true, false}, [2]bool{here, gone})
	assert.ErrorIs(t, <-left, io.EOF, "the probe hangs up")
	assert.NoError(t, peer.Close())
}

// portOf is an address without its host.
func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return ":" + port
}

// A process that is being ended may accept connections for a moment, and close them.
func TestAProcessThatIsBeingEndedIsProbedUntilItIsGone(t *testing.T) {
	l, _ := linkTo(t)
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, peer.(*net.TCPListener).SetDeadline(time.Now().Add(20*time.Second))) // only a failing test waits that long
	l.address = peer.Addr().String()
	_, breaks := accepts(t, l)
	probed := make(chan error, 1)
	go func() {
		var err error
		for range 2 {
			var c net.Conn
			if c, err = peer.Accept(); err == nil {
				err = c.Close()
			}
		}
		probed <- errors.Join(err, peer.Close())
	}()
	breaks()
	require.NoError(t, <-probed)
	require.Eventually(t, func() bool { return l.suspected() == nil }, 20*time.Second, time.Millisecond, "it is known to be gone")
}

// A peer that swallows everything must not keep the link from calling it at its next address. Here its name server does.
func TestAProbeIsBounded(t *testing.T) {
	usual := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = usual })
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF }}
	_, err := resolver.LookupHost(t.Context(), "peer.invalid.") // package net reads its files once, which no bubble may do
	require.Error(t, err)
	synctest.Test(t, func(t *testing.T) {
		net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		began := time.Now()
		here, gone := probe(t.Context(), "peer.invalid.:1")
		assert.Equal(t, [2]bool{false, false}, [2]bool{here, gone}, "silence proves nothing")
		assert.Equal(t, time.Second, time.Since(began))
	})
}

// The authorities may have changed since the handshake.
func TestAConnectionThatIsKeptIsVerified(t *testing.T) {
	r := &reloader{live: map[*meter]func() error{}}
	verified := errors.New("no longer trusted")
	keep := r.keeper(func(tls.ConnectionState) error { return verified })
	c, _ := net.Pipe()
	m := newMeter(c, func() {})
	require.ErrorIs(t, keep.keep(m, credentials.TLSInfo{}), verified)
	require.NoError(t, m.Close())
	assert.Empty(t, r.live)
	require.ErrorContains(t, keep.keep(newMeter(c, func() {}), nil), "without TLS")
}

// Otherwise it would be verified for ever, because nothing ends it again.
func TestAConnectionThatWasClosedInItsHandshakeIsNotKept(t *testing.T) {
	r := &reloader{live: map[*meter]func() error{}}
	c, _ := net.Pipe()
	m := newMeter(c, func() {})
	require.NoError(t, m.Close())
	require.NoError(t, r.keeper(func(tls.ConnectionState) error { return nil }).keep(m, credentials.TLSInfo{}))
	assert.Empty(t, r.live)
}

// broken is a stream on which Send fails.
type broken struct{ packets }

func (broken) Send(*electorpb.Packet) error { return io.EOF }

func TestMessagesThatCouldNotBeSentCountAsDropped(t *testing.T) {
	l, _ := linkTo(t)
	l.queue.put([]rpc.Message{vote(1), vote(2)})
	require.ErrorIs(t, l.sendAll(t.Context(), broken{}, true), io.EOF)
	assert.EqualValues(t, 2, l.transport.Stats().Dropped)
	assert.Zero(t, l.transport.Stats().Sent)
}

func TestMessagesThatGoNowhereCountAsDropped(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tr, err := New(Config{Self: "b", Listener: listener, Peers: map[string]string{"c": deaf(t)}})
	require.NoError(t, err)
	defer tr.Close()
	tr.Send("nobody", make([]rpc.Message, 1))
	assert.EqualValues(t, 1, tr.Stats().Dropped, "it is no peer")
	tr.deliver(make([]rpc.Message, 10))
	assert.EqualValues(t, 11, tr.Stats().Dropped, "there is no handler")
	tr.Send("c", make([]rpc.Message, maxQueued+100))
	assert.EqualValues(t, 111, tr.Stats().Dropped, "there is no room")
}

// Each is accounted for when it is known that it will not be sent.
func TestMessagesThatWaitForAPeerThatIsRemovedCountAsDropped(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	one, other := deaf(t), deaf(t)
	tr, err := New(Config{Self: "b", Listener: listener, Peers: map[string]string{"a": one, "c": one}})
	require.NoError(t, err)
	defer tr.Close()
	send := func(to string) {
		tr.Send(to, []rpc.Message{vote(1), {Body: rpc.Body{Kind: rpc.Heartbeat}}})
		tr.SendBeat(to, new(rpc.Beat))
	}
	send("a")
	send("c")
	assert.Zero(t, tr.Stats().Dropped, "they wait")
	removed := tr.linkFor("a")
	tr.SetPeers(map[string]string{"c": one})
	assert.EqualValues(t, 3, tr.Stats().Dropped, "a is no peer any more")
	removed.put([]rpc.Message{vote(2)})
	removed.putBeat(new(rpc.Beat))
	assert.EqualValues(t, 5, tr.Stats().Dropped, "it was removed while they were being sent")
	tr.SetPeers(map[string]string{"c": other})
	assert.EqualValues(t, 8, tr.Stats().Dropped, "c has another address")
	send("c")
	tr.Close()
	assert.EqualValues(t, 11, tr.Stats().Dropped, "the transport is closed")
	send("c")
	assert.EqualValues(t, 14, tr.Stats().Dropped, "it stays closed")
	tr.SetPeers(map[string]string{"d": one})
	send("d")
	assert.EqualValues(t, 17, tr.Stats().Dropped, "for new peers, too")
}

// It would call the old address for ever, where another process may listen now.
func TestTheLinkOfAPeerThatGetsAnotherAddressEnds(t *testing.T) {
	l, _ := linkTo(t)
	tr := l.transport
	one, other := deaf(t), deaf(t)
	tr.SetPeers(map[string]string{"a": one, "c": one, "d": one}) // one calls, and others are called
	before := map[string]*link{"a": tr.linkFor("a"), "c": tr.linkFor("c"), "d": tr.linkFor("d")}
	tr.SetPeers(map[string]string{"a": other, "c": other, "d": one})
	for _, moved := range []string{"a", "c"} {
		assert.Error(t, before[moved].ctx.Err(), moved)
		assert.NoError(t, tr.linkFor(moved).ctx.Err(), moved)
	}
	assert.Same(t, before["d"], tr.linkFor("d"))
	assert.NoError(t, before["d"].ctx.Err())
}

func TestNothingIsSentAfterTheEnd(t *testing.T) {
	l, _ := linkTo(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.sendAll(ended, broken{}, true), context.Canceled)
}
