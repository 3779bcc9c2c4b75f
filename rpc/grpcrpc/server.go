// Calls that come in: who may make them, and what becomes of them.

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
	// maxStreams bounds the calls that one connection can have at once.
	maxStreams = 16
	// maxHeader bounds what comes before an answer.
	maxHeader = 8 << 10
	// maxCallHeader bounds what comes before a call. gRPC needs half a kilobyte; much
	// more would do harm, because a refusal repeats some of it at four times the size.
	maxCallHeader = 2 << 10
	// window is how much of a call may be on its way. gRPC would make it larger
	// by itself, up to 16 MiB, and has no smaller one.
	window = 64 << 10
	// readBuffer is what every connection has to read into.
	readBuffer = 4 << 10
	// handshakeTime is how long a connection may take to say who it is, before
	// the first call and, once more, in it.
	handshakeTime = 5 * time.Second
	// aliveEvery is after how much silence a connection is asked whether it is
	// there, and aliveWithin how soon it must answer.
	aliveEvery, aliveWithin = 10 * time.Second, 5 * time.Second
	// idleTime is how long a connection without a call is kept.
	idleTime = time.Minute
)

func (t *Transport) newServer() *grpc.Server {
	creds := doorman{TransportCredentials: insecure.NewCredentials()}
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

// doorman is a handshake that tells of whom it turns away.
type doorman struct {
	credentials.TransportCredentials
	keep keeper
}

// visitor is what is known of a connection after its handshake.
type visitor struct {
	credentials.AuthInfo
	meter *meter
	guest *guest // nil if this side has called
}

// visitorOf is who is at the other end of a stream.
func visitorOf(ctx context.Context) (visitor, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return visitor{}, status.Error(codes.Internal, "a stream from nobody")
	}
	v, ok := p.AuthInfo.(visitor)
	if !ok {
		return visitor{}, status.Error(codes.Internal, "a stream over a connection that this transport does not know")
	}
	return v, nil
}

func (d doorman) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	came, ok := c.(*guest)
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
	came.known.Store(true)
	came.calls = newCalls(secured, func(why Refusal, err error) { came.refuse(why, "error", err) })
	return came.calls, visitor{info, came.meter, came}, nil
}

func (d doorman) Clone() credentials.TransportCredentials {
	return doorman{d.TransportCredentials.Clone(), d.keep}
}

// authorise says whether who calls may make this call: members exchange
// messages, operators do everything else, and everyone may ask after the health.
func (t *Transport) authorise(ctx context.Context, method string) error {
	v, err := visitorOf(ctx)
	if err != nil {
		return err
	}
	came := v.guest
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
	if operates { // a member is let in when it has said Hello
		t.guard.welcome(came)
	}
	return nil
}

// roleFor is the role that a call needs; empty if either will do.
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

// identity is who the certificate of a connection names. It has been verified.
func (v visitor) identity() (Identity, error) {
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

// Exchange takes in a connection from a peer.
func (m memberService) Exchange(s grpc.BidiStreamingServer[electorpb.Packet, electorpb.Packet]) error {
	t := m.transport
	v, err := visitorOf(s.Context())
	if err != nil {
		return err
	}
	came, remote := v.guest, v.guest.RemoteAddr()
	if err := came.calls.alone(); err != nil {
		came.refuse(RefusedPeer, "error", err)
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	came.resume()
	defer t.guard.dismiss(came) // and whoever comes again comes over another connection
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

// excessive counts a packet that was too large, or had too many messages.
func (t *Transport) excessive(err error, attributes ...any) error {
	if _, ok := errors.AsType[*excess](err); ok {
		err = status.Error(codes.ResourceExhausted, err.Error())
	}
	if status.Code(err) == codes.ResourceExhausted {
		t.refuse(RefusedPeer, append(attributes, "error", err)...)
	}
	return err
}

// recognise finds the peer that says hello, and holds what it says against its
// certificate.
func (t *Transport) recognise(v visitor, h *electorpb.Hello) (*link, error) {
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
