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
	// maxPacket bounds a packet: several times what maxBatch messages can take.
	maxPacket = 4 << 20
	// maxStreams bounds the calls that one connection can have at once.
	maxStreams = 64
	// maxHeader bounds what comes before a call.
	maxHeader = 16 << 10
	// handshakeTime is how long a connection may take to say who it is.
	handshakeTime = 5 * time.Second
	// aliveEvery is after how much silence a connection is asked whether it is
	// there, and aliveWithin how soon it must answer.
	aliveEvery, aliveWithin = 10 * time.Second, 5 * time.Second
	// idleTime is how long a connection without a call is kept.
	idleTime = time.Minute
)

func (t *Transport) newServer() *grpc.Server {
	creds := doorman{insecure.NewCredentials(), t.refuse}
	if t.tls != nil {
		creds = doorman{credentials.NewTLS(t.tls.server()), t.refuse}
	}
	s := grpc.NewServer(
		grpc.Creds(creds),
		grpc.MaxRecvMsgSize(maxPacket),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.ConnectionTimeout(handshakeTime),
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
	refuse func(Refusal, ...any)
}

func (d doorman) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := d.TransportCredentials.ServerHandshake(c)
	switch {
	case err == nil:
		know(c)
	case !errors.Is(err, net.ErrClosed) && spoke(c):
		d.refuse(RefusedHandshake, "remote", c.RemoteAddr(), "error", err)
	}
	return secured, info, err
}

func (d doorman) Clone() credentials.TransportCredentials {
	return doorman{d.TransportCredentials.Clone(), d.refuse}
}

// authorise says whether who calls may make this call: members exchange
// messages, operators do everything else, and everyone may ask after the health.
func (t *Transport) authorise(ctx context.Context, method string) error {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return status.Error(codes.Internal, "a call without a caller")
	}
	if t.tls != nil {
		who, err := caller(p)
		if err != nil {
			return status.Error(codes.Unauthenticated, err.Error())
		}
		t.guard.admit(p.Addr) // it is none who says nothing
		if need := roleFor(method); need != "" && need != who.Role {
			t.refuse(RefusedRole, "caller", who.String(), "method", method, "remote", p.Addr)
			return status.Errorf(codes.PermissionDenied, "%s is for a certificate of the role %s; this one is that of %v", method, need, who)
		}
	}
	t.guard.admit(p.Addr)
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

// caller is who the certificate of a connection names. It has been verified.
func caller(p *peer.Peer) (Identity, error) {
	info, ok := p.AuthInfo.(credentials.TLSInfo)
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
	p, err := s.Recv()
	if err != nil {
		return err
	}
	h := p.GetHello()
	remote, _ := peer.FromContext(s.Context())
	l, err := t.recognise(s.Context(), h)
	if err != nil {
		t.refuse(RefusedIdentity, "claims", h.GetFrom(), "looks_for", h.GetTo(), "remote", remote.Addr, "error", err)
		return status.Error(codes.PermissionDenied, err.Error())
	}
	return l.accept(s, h, remote.Addr.String())
}

// recognise finds the peer that says hello, and holds what it says against its
// certificate.
func (t *Transport) recognise(ctx context.Context, h *electorpb.Hello) (*link, error) {
	if h == nil {
		return nil, errors.New("the first packet is no Hello")
	}
	if t.tls != nil {
		p, _ := peer.FromContext(ctx)
		who, err := caller(p)
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
