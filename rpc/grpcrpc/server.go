// Incoming calls: the server, its limits, and which certificates may make which calls.

package grpcrpc

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
)

const (
	// maxStreams bounds the calls of one connection at a time.
	maxStreams = 16
	// maxHeader bounds the header of an answer.
	maxHeader = 8 << 10
	// maxCallHeader bounds the header of a call. gRPC needs half a kilobyte; much more
	// would do harm, because a refusal repeats some of it at four times the size.
	maxCallHeader = 2 << 10
	// window bounds the bytes of a call that are on their way. gRPC has no smaller
	// window, and would enlarge it by itself to up to 16 MiB.
	window = 64 << 10
	// readBuffer is the size of each connection's read buffer.
	readBuffer = 4 << 10
	// handshakeTime bounds the TLS handshake of a connection, and again the exchange of
	// Hellos.
	handshakeTime = 5 * time.Second
	// aliveEvery is the silence after which a connection is pinged, and aliveWithin the
	// time in which it must answer.
	aliveEvery, aliveWithin = 10 * time.Second, 5 * time.Second
	// idleTime is how long a connection without a call is kept.
	idleTime = time.Minute
)

func (t *Transport) newServer() *grpc.Server {
	creds := serverCreds{TransportCredentials: insecure.NewCredentials()}
	if t.tls != nil {
		config := t.tls.server()
		creds.TransportCredentials = credentials.NewTLS(config)
		creds.keep = t.tls.keeper(config.VerifyConnection)
	}
	s := grpc.NewServer(
		grpc.Creds(creds),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(maxPacket),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxCallHeader),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(window),
		grpc.ReadBufferSize(readBuffer),
		grpc.ConnectionTimeout(t.handshakeTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleTime, Time: aliveEvery, Timeout: aliveWithin}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: aliveEvery / 2, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
		grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := t.authorise(ctx, info.FullMethod); err != nil {
				return nil, err
			}
			return next(ctx, request)
		}),
		grpc.StreamInterceptor(func(service any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := t.authorise(s.Context(), info.FullMethod); err != nil {
				return err
			}
			return next(service, s)
		}),
	)
	electorpb.RegisterMemberServiceServer(s, memberService{transport: t})
	return s
}

// serverCreds is the server's handshake, which reports refused connections.
type serverCreds struct {
	credentials.TransportCredentials
	keep keeper
}

// handshake is the result of a connection's handshake.
type handshake struct {
	credentials.AuthInfo
	meter   *meter
	inbound *inbound // nil on an outgoing connection
}

// handshakeOf returns the handshake's result for a stream.
func handshakeOf(ctx context.Context) (handshake, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return handshake{}, status.Error(codes.Internal, "a stream from nobody")
	}
	v, ok := p.AuthInfo.(handshake)
	if !ok {
		return handshake{}, status.Error(codes.Internal, "a stream over a connection that this transport does not know")
	}
	return v, nil
}

func (d serverCreds) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	came, ok := c.(*inbound)
	if !ok {
		return nil, nil, errors.New("a connection that did not come by the guard")
	}
	secured, info, err := d.TransportCredentials.ServerHandshake(c)
	if err == nil {
		err = d.keep.keep(came.meter, info)
	}
	if err != nil {
		if !errors.Is(err, net.ErrClosed) && came.spoke.Load() {
			came.refuse(RefusedHandshake, "error", explain(err))
		}
		return nil, nil, err
	}
	came.calls = newCalls(secured, func(why Refusal, err error) { came.refuse(why, "error", err) })
	came.known.Store(true)
	return came.calls, handshake{info, came.meter, came}, nil
}

func (d serverCreds) Clone() credentials.TransportCredentials {
	return serverCreds{d.TransportCredentials.Clone(), d.keep}
}

// authorise checks whether the caller may make this call: members exchange messages, operators
// make all other calls, and both may query the health.
func (t *Transport) authorise(ctx context.Context, method string) error {
	v, err := handshakeOf(ctx)
	if err != nil {
		return err
	}
	came := v.inbound
	came.called.Store(true)
	need := roleFor(method)
	operates := need != Member
	if t.tls != nil {
		who, err := v.identity()
		if err != nil {
			return status.Error(codes.Unauthenticated, err.Error())
		}
		if need != "" && need != who.Role {
			t.refuse(RefusedRole, "caller", who.String(), "method", method, "remote", came.RemoteAddr())
			return status.Errorf(codes.PermissionDenied, "%s is for a certificate of the role %s; this one is that of %v", method, need, who)
		}
		operates = who.Role == Operator
	}
	if operates { // a member becomes a peer by its Hello
		t.guard.welcome(came)
	}
	return nil
}

// roleFor returns the role that a call needs; empty if both may make it.
func roleFor(method string) Role {
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	switch service {
	case electorpb.MemberService_ServiceDesc.ServiceName:
		return Member
	case grpc_health_v1.Health_ServiceDesc.ServiceName:
		return ""
	default:
		return Operator
	}
}

// identity returns the identity in the certificate of a connection, which has been verified.
func (v handshake) identity() (Identity, error) {
	info, ok := v.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return Identity{}, errors.New("no certificate")
	}
	return IdentityOf(info.State.PeerCertificates[0])
}

type memberService struct {
	electorpb.UnimplementedMemberServiceServer
	transport *Transport
}

// Exchange accepts a connection from a peer.
func (m memberService) Exchange(s grpc.BidiStreamingServer[electorpb.Packet, electorpb.Packet]) error {
	t := m.transport
	v, err := handshakeOf(s.Context())
	if err != nil {
		return err
	}
	came, remote := v.inbound, v.inbound.RemoteAddr()
	if err := came.calls.reserve(); err != nil {
		came.refuse(RefusedPeer, "error", err)
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	came.resume()
	defer t.guard.dismiss(came) // the peer's next exchange comes over another connection
	p, err := receiveHello(s)
	if err != nil {
		return t.excessive(err, "remote", remote)
	}
	h := p.GetHello()
	l, err := t.recognise(v, h)
	if err != nil {
		t.refuse(RefusedIdentity, "claims", h.GetFrom(), "looks_for", h.GetTo(), "remote", remote, "error", err)
		return status.Error(codes.PermissionDenied, err.Error())
	}
	return l.accept(s, h, came)
}

// excessive counts a packet that is too large, or has too many messages.
func (t *Transport) excessive(err error, attributes ...any) error {
	if _, ok := errors.AsType[*excess](err); ok {
		err = status.Error(codes.ResourceExhausted, err.Error())
	}
	if status.Code(err) == codes.ResourceExhausted {
		t.refuse(RefusedPeer, append(attributes, "error", err)...)
	}
	return err
}

// recognise finds the peer that has sent a Hello, and compares the Hello with its certificate.
func (t *Transport) recognise(v handshake, h *electorpb.Hello) (*link, error) {
	if h == nil {
		return nil, errors.New("the first packet is no Hello")
	}
	if t.tls != nil {
		who, err := v.identity()
		if err != nil {
			return nil, err
		}
		if who.Name != h.From {
			return nil, errors.New("the certificate is that of " + who.String())
		}
	}
	if h.To != t.self {
		return nil, errors.New("this is node " + t.self)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.links[h.From]
	switch {
	case l == nil:
		return nil, errors.New("not one of the peers of node " + t.self)
	case l.calls():
		return nil, errors.New("of two nodes the one with the smaller id calls")
	}
	return l, nil
}
