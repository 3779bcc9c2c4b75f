// What incoming calls make of their connections.

package grpcrpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"

	"github.com/hustings/hustings/proto/electorpb"
)

// cameOver is the context of a call over a connection.
func cameOver(t *testing.T, came *inbound, info credentials.AuthInfo) context.Context {
	t.Helper()
	return peer.NewContext(t.Context(), &peer.Peer{AuthInfo: handshake{info, came.meter, came}})
}

// failing are credentials whose handshake fails with this error.
type failing struct {
	credentials.TransportCredentials
	err error
}

func (f failing) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, f.err
}

// A peer's probe sends nothing, and a handshake may also fail because this side has closed the connection.
// Neither is an attack that somebody should look into.
func TestAHandshakeThatFailsIsCountedIfTheCallerHasSpoken(t *testing.T) {
	for name, c := range map[string]struct {
		spoke bool
		err   error
		count uint64
	}{
		"bad certificate": {true, errors.New("bad certificate"), 1},
		"probe":           {false, io.EOF, 0},
		"closed here":     {true, net.ErrClosed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := linkTo(t)
			came := stranger(t, l)
			came.spoke.Store(c.spoke)
			_, _, err := serverCreds{TransportCredentials: failing{err: c.err}}.ServerHandshake(came)
			require.ErrorIs(t, err, c.err)
			assert.Equal(t, c.count, l.transport.Stats().Refused[RefusedHandshake])
			assert.False(t, came.known.Load())
			require.NoError(t, came.Close())
			assert.Zero(t, l.transport.Stats().Refused[RefusedSilence])
		})
	}
}

// Members that ask for the health must not take the places of operators.
func TestOnlyAnOperatorBecomesACaller(t *testing.T) {
	for role, callers := range map[Role]int{Member: 0, Operator: 1} {
		l, _ := linkTo(t)
		tr := l.transport
		tr.tls = new(reloader)
		came := stranger(t, l)
		certificate := &x509.Certificate{URIs: []*url.URL{Identity{role, "a"}.URI()}}
		info := credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}}
		require.NoError(t, tr.authorise(cameOver(t, came, info), grpc_health_v1.Health_Check_FullMethodName))
		assert.Equal(t, callers, tr.guard.callers.Len(), role)
		require.NoError(t, came.Close())
	}
}

// ended is the stream of a caller that has gone.
type ended struct {
	grpc.BidiStreamingServer[electorpb.Packet, electorpb.Packet]
	ctx context.Context
}

func (e ended) Context() context.Context { return e.ctx }
func (ended) RecvMsg(any) error          { return io.EOF }

// Its bytes were not counted while it was a caller.
func TestTheBytesOfAnExchangeAreCountedOverEveryConnection(t *testing.T) {
	l, _ := linkTo(t)
	came := stranger(t, l)
	came.calls = newCalls(came, func(Refusal, error) {})
	l.transport.guard.welcome(came)
	require.True(t, came.spend(strangerBytes+1))
	require.Error(t, memberService{transport: l.transport}.Exchange(ended{ctx: cameOver(t, came, nil)}))
	assert.False(t, came.spend(strangerBytes+1))
	require.NoError(t, came.Close())
}

func TestOnlyPeersAreAnswered(t *testing.T) {
	l, _ := linkTo(t)
	tr := l.transport
	tr.SetPeers(map[string]string{"c": "127.0.0.1:1"})
	require.NoError(t, tr.isAskedBy(t.Context(), &electorpb.KnowsRequest{From: "c", To: "b"}))
	require.ErrorContains(t, tr.isAskedBy(t.Context(), &electorpb.KnowsRequest{From: "x", To: "b"}), `"x" is not one of the peers`)
}

// An operator's certificate is not a node's own, even with the same name.
func TestACertificateOfAnotherRoleIsNotOnesOwn(t *testing.T) {
	r := &reloader{self: Identity{Member, "a"}}
	certificate := func(role Role) *x509.Certificate {
		return &x509.Certificate{URIs: []*url.URL{Identity{role, "a"}.URI()}}
	}
	require.NoError(t, r.isSelf(certificate(Member)))
	require.ErrorContains(t, r.isSelf(certificate(Operator)), "not of member a")
}
