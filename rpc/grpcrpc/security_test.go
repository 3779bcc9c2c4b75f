// Refusals: each is counted and logged, and honest nodes are heard meanwhile.

package grpcrpc_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// besieged is a cluster in which a is connected to b, and the test attacks b.
type besieged struct {
	*cluster
	a, b *grpcrpc.Transport
	ear  *ear
}

func besiege(t *testing.T, build func(*testing.T, ...string) *cluster) *besieged {
	t.Helper()
	w := build(t, "a", "a2", "b", "c") // the test plays a2
	s := &besieged{cluster: w}
	s.a, _ = w.serve("a")
	s.b = w.patient("b")
	s.ear = w.listenTo(s.b)
	w.reaches(s.a, "b", s.ear)
	return s
}

// holds checks that a refusal was counted and logged, and that a still reaches b.
func (s *besieged) holds(why grpcrpc.Refusal, atLeast int) {
	s.t.Helper()
	s.eventually("it is counted as "+why.String(), func() bool { return s.b.Stats().Refused[why] >= uint64(atLeast) })
	s.eventually("it is logged", func() bool { return strings.Contains(s.log.String(), "reason="+why.String()) })
	s.reaches(s.a, "b", s.ear)
}

// caller is a gRPC connection to b with a certificate of the test's choice.
func (s *besieged) caller(files *grpcrpc.TLS) *grpc.ClientConn {
	s.t.Helper()
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	if files != nil {
		own, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		require.NoError(s.t, err)
		config.Certificates = []tls.Certificate{own}
	}
	conn, err := grpc.NewClient("passthrough:///"+s.addresses["b"], grpc.WithTransportCredentials(credentials.NewTLS(config)))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, conn.Close()) })
	return conn
}

// exchange opens a stream as a member does, and returns the error with which it ends.
func (s *besieged) exchange(files *grpcrpc.TLS, from, to string, then ...*electorpb.Packet) error {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stream, err := electorpb.NewMemberServiceClient(s.caller(files)).Exchange(ctx)
	if err != nil {
		return err
	}
	hello := &electorpb.Packet{Content: &electorpb.Packet_Hello{Hello: &electorpb.Hello{From: from, To: to, Incarnation: 7}}}
	_ = stream.Send(hello) // if this fails Recv says why
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		for _, p := range then { // now that the Hello was answered
			_ = stream.Send(p)
		}
		then = nil
	}
}

func TestFault27WrongCertificatesAreRefused(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	for name, files := range map[string]*grpcrpc.TLS{
		"none":            nil,
		"wrong authority": s.issue(newAuthority(t), grpcrpc.Member, "c", "wrong", time.Hour),
		"expired":         s.issue(s.authority, grpcrpc.Member, "c", "expired", -time.Minute),
		"no role":         s.issue(s.authority, "king", "c", "king", time.Hour),
		"nobody":          s.issue(s.authority, grpcrpc.Member, "", "nobody", time.Hour),
	} {
		before := s.b.Stats().Refused[grpcrpc.RefusedHandshake]
		assert.Zero(t, s.b.Stats().Refused[grpcrpc.RefusedSilence], "it is counted once")
		assert.Equal(t, codes.Unavailable, status.Code(s.exchange(files, "c", "b")), name)
		s.holds(grpcrpc.RefusedHandshake, int(before)+1)
	}
}

// In older versions certificates go over the network in the clear.
func TestACallerWithAnOlderVersionOfTLSIsRefused(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	files := s.issue(s.authority, grpcrpc.Member, "c", "c", time.Hour)
	own, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	require.NoError(t, err)
	_, err = tls.Dial("tcp", s.addresses["b"], &tls.Config{
		InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, NextProtos: []string{"h2"},
	})
	require.ErrorContains(t, err, "protocol version")
	s.holds(grpcrpc.RefusedHandshake, 1)
}

// Somebody on the way may pretend that the peer knows no newer one.
func TestACallerOffersNoOlderVersionOfTLS(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b")
	own, err := tls.LoadX509KeyPair(w.dir+"/b.crt", w.dir+"/b.key")
	require.NoError(t, err)
	w.serve("a")
	conn, err := w.listeners["b"].Accept()
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the other side may have closed it
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	err = tls.Server(conn, &tls.Config{
		MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert, Certificates: []tls.Certificate{own}, NextProtos: []string{"h2"},
	}).Handshake()
	require.ErrorContains(t, err, "unsupported versions")
	require.NoError(t, w.listeners["b"].Close())
}

func TestFault27AMemberCannotSpeakForAnother(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	c := s.issue(s.authority, grpcrpc.Member, "c", "c", time.Hour)
	for i, err := range []error{
		s.exchange(c, "a", "b"),
		s.exchange(c, "c", "a"), // it expects another node
		s.exchange(s.issue(s.authority, grpcrpc.Member, "a", "another-a", time.Hour), "a", "c"), // so does a peer
		s.exchange(s.issue(s.authority, grpcrpc.Member, "d", "d", time.Hour), "d", "b"),         // a stranger to b
		s.exchange(c, "c", "b"), // not its turn: b calls c
	} {
		assert.Equal(t, codes.PermissionDenied, status.Code(err), "%d: %v", i, err)
	}
	s.holds(grpcrpc.RefusedIdentity, 5)
}

func TestACallerRefusesAnotherNodeAtThePeersAddress(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b", "c")
	_, ear := w.serve("b")
	c, _ := w.serve("c")
	right := w.addresses["b"]
	w.addresses["b"] = w.addresses["c"]
	a, _ := w.serve("a")
	w.eventually("c is called in place of b, and refused", func() bool { return c.Stats().Refused[grpcrpc.RefusedHandshake] > 0 })
	w.eventually("a counts it", func() bool { return a.Stats().Refused[grpcrpc.RefusedHandshake] > 0 })
	w.tells("peer=b", "the other side is hustings://member/c, not hustings://member/b")
	w.tells("remote=", "the other side refuses this node, and its log says why")
	assert.Empty(t, ear.heard)
	a.SetPeers(map[string]string{"b": right})
	w.reaches(a, "b", ear)
}

// The refusal arrives after the caller's own part of the handshake has ended.
func TestACallerReportsThatItIsRefused(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b")
	w.issue(w.authority, grpcrpc.Member, "a", "a", -time.Minute)
	a, _ := w.serve("a")
	b, _ := w.serve("b")
	for _, side := range []*grpcrpc.Transport{a, b} {
		w.eventually("it is counted", func() bool { return side.Stats().Refused[grpcrpc.RefusedHandshake] > 0 })
	}
	w.tells("certificate has expired")
	w.tells("peer=b", "the other side refuses this node, and its log says why", "bad certificate")
}

func TestEachRoleHasItsOwnCalls(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b", "c")
	s := &besieged{cluster: w}
	s.a, _ = w.serve("a")
	s.b = w.open("b")
	electorpb.RegisterOperatorServiceServer(s.b.Registrar(), electorpb.UnimplementedOperatorServiceServer{})
	s.ear = w.listenTo(s.b)
	operator := s.issue(s.authority, grpcrpc.Operator, "alice", "alice", time.Hour)
	err := s.exchange(operator, "a", "b")
	assert.Equal(t, codes.PermissionDenied, status.Code(err), err)
	member := s.issue(s.authority, grpcrpc.Member, "c", "c", time.Hour)
	_, err = electorpb.NewOperatorServiceClient(s.caller(member)).Status(t.Context(), new(electorpb.StatusRequest))
	assert.Equal(t, codes.PermissionDenied, status.Code(err), err)
	watch, err := electorpb.NewOperatorServiceClient(s.caller(member)).Watch(t.Context(), new(electorpb.WatchRequest))
	require.NoError(t, err)
	_, err = watch.Recv()
	assert.Equal(t, codes.PermissionDenied, status.Code(err), "streams, too: %v", err)
	s.holds(grpcrpc.RefusedRole, 3)
	_, err = electorpb.NewOperatorServiceClient(s.caller(operator)).Status(t.Context(), new(electorpb.StatusRequest))
	assert.Equal(t, codes.Unimplemented, status.Code(err), "it may call, but the service does nothing: %v", err)
}

func TestARefusedCallDoesNotCountAsSilence(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	err := s.exchange(s.issue(s.authority, grpcrpc.Operator, "alice", "alice", time.Hour), "a", "b")
	require.Equal(t, codes.PermissionDenied, status.Code(err), err)
	s.holds(grpcrpc.RefusedRole, 1)
	s.b.Close() // and so the call's connection is closed
	assert.Zero(t, s.b.Stats().Refused[grpcrpc.RefusedSilence])
}

func TestBothRolesMayQueryTheHealth(t *testing.T) {
	w := newClusterWithTLS(t, "b")
	b := w.open("b")
	grpc_health_v1.RegisterHealthServer(b.Registrar(), health.NewServer())
	stop, err := b.Serve(new(ear))
	require.NoError(t, err)
	defer stop()
	s := &besieged{cluster: w, b: b}
	for role, name := range map[grpcrpc.Role]string{grpcrpc.Member: "c", grpcrpc.Operator: "alice"} {
		caller := s.caller(w.issue(w.authority, role, name, name, time.Hour))
		_, err := grpc_health_v1.NewHealthClient(caller).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
		assert.NoError(t, err, role)
	}
}

// A refusal would repeat it, at several times the size.
func TestALargeHeaderOfACallIsRefused(t *testing.T) {
	s := besiegeHealthy(t, newClusterWithTLS)
	caller := grpc_health_v1.NewHealthClient(s.caller(s.issue(s.authority, grpcrpc.Operator, "alice", "alice", time.Hour)))
	for size, code := range map[int]codes.Code{1 << 10: codes.OK, 2 << 10: codes.Internal} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "large", strings.Repeat("x", size))
		_, err := caller.Check(ctx, new(grpc_health_v1.HealthCheckRequest))
		assert.Equal(t, code, status.Code(err), err)
	}
}

func packetOf(messages ...*electorpb.Message) *electorpb.Packet {
	return &electorpb.Packet{Content: &electorpb.Packet_Batch{Batch: &electorpb.Batch{Messages: messages}}}
}

func TestAnOversizedBatchEndsTheConnection(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	large := packetOf(&electorpb.Message{Group: strings.Repeat("g", 5<<20)})
	err := s.exchange(s.issue(s.authority, grpcrpc.Member, "a2", "a2", time.Hour), "a2", "b", large)
	assert.Equal(t, codes.ResourceExhausted, status.Code(err), err)
	s.holds(grpcrpc.RefusedPeer, 1)
}

func TestMalformedMessagesAreDroppedAndTooManyEndTheConnection(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	bad := make([]*electorpb.Message, 101)
	for i := range bad {
		bad[i] = &electorpb.Message{Group: "g", Kind: 99}
	}
	err := s.exchange(s.issue(s.authority, grpcrpc.Member, "a2", "a2", time.Hour), "a2", "b", packetOf(bad...))
	assert.Equal(t, codes.InvalidArgument, status.Code(err), err)
	s.holds(grpcrpc.RefusedMessage, len(bad))
	s.holds(grpcrpc.RefusedPeer, 1)
}

func TestGarbageOnThePortIsRefused(t *testing.T) {
	for why, build := range map[grpcrpc.Refusal]func(*testing.T, ...string) *cluster{
		grpcrpc.RefusedHandshake: newClusterWithTLS,
		grpcrpc.RefusedSilence:   newCluster,
	} {
		s := besiege(t, build)
		c, err := net.Dial("tcp", s.addresses["b"])
		require.NoError(t, err)
		_, err = c.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\n", 100)))
		require.NoError(t, err)
		s.holds(why, 1)
		assert.NoError(t, c.Close())
	}
}

// Thousands of connections are opened and abandoned. The oldest are closed.
func TestManyStrangersKeepNoMemberOut(t *testing.T) {
	crowd := effort.Of(10_000, 3000)
	s := besiege(t, newClusterWithTLS)
	for range crowd {
		c, err := net.Dial("tcp", s.addresses["b"])
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
	}
	s.holds(grpcrpc.RefusedCrowd, crowd-1000)
	s.a.Close()
	s.listen("a", s.addresses["a"])
	s.a, _ = s.serve("a")
	s.reaches(s.a, "b", s.ear)
}

func TestAPeerThatReadsNothingDelaysNoOther(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b", "c")
	b, _ := w.serve("b")
	c, ear := w.serve("c")
	s := &besieged{cluster: w, b: b}
	stream, err := electorpb.NewMemberServiceClient(s.caller(w.issue(w.authority, grpcrpc.Member, "a", "a", time.Hour))).Exchange(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&electorpb.Packet{Content: &electorpb.Packet_Hello{Hello: &electorpb.Hello{From: "a", To: "b"}}}))
	w.eventually("it is connected", func() bool { return b.Stats().Connected > 0 })
	w.eventually("its queue is full", func() bool {
		for range 1000 {
			b.Send("a", manyVotes)
		}
		return b.Stats().Dropped > 0
	})
	w.reaches(b, "c", ear)
	c.Close()
}
