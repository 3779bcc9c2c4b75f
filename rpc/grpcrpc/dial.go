// Outgoing connections.

package grpcrpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// Dial makes an operator's connection to a node. The files hold the operator's
// certificate, and the node must have a member's certificate; without files there is no
// TLS. The connection is opened by the first call.
func Dial(address string, files *TLS) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if files != nil {
		r, err := newReloader(*files, Identity{Role: Operator}, time.Now, func(Refusal, ...any) {})
		if err != nil {
			return nil, err
		}
		creds = credentials.NewTLS(r.client(""))
	}
	return dial(address, creds, func(c net.Conn) net.Conn { return c })
}

// dial makes a connection to a peer.
func (t *Transport) dial(address, peer string) (*grpc.ClientConn, error) {
	creds := clientCreds{TransportCredentials: insecure.NewCredentials()}
	if t.tls != nil {
		config := t.tls.client(peer)
		creds.keep = t.tls.keeper(config.VerifyConnection)
		creds.refuse = func(err error) { t.refuse(RefusedHandshake, "peer", peer, "address", address, "error", explain(err)) }
		config.VerifyConnection = reporting(config.VerifyConnection, creds.refuse)
		creds.TransportCredentials = credentials.NewTLS(config)
	}
	flooded := func() { t.refuse(RefusedFlood, "peer", peer, "address", address) }
	return dial(address, creds, func(c net.Conn) net.Conn { return newMeter(c, flooded) },
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec()), grpc.MaxCallRecvMsgSize(maxPacket)),
		grpc.WithMaxHeaderListSize(maxHeader),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(window),
		grpc.WithReadBufferSize(readBuffer),
	)
}

func dial(address string, creds credentials.TransportCredentials, wrap func(net.Conn) net.Conn, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	var d net.Dialer
	return grpc.NewClient("passthrough:///"+url.PathEscape(address), append(more,
		grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			c, err := d.DialContext(ctx, "tcp", address)
			if err != nil {
				return nil, err
			}
			return wrap(c), nil
		}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: handshakeTime}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: aliveEvery, Timeout: aliveWithin, PermitWithoutStream: true}),
		grpc.WithIdleTimeout(0),
		grpc.WithDisableServiceConfig(),
	)...)
}

// reporting wraps a check so that it reports its errors.
func reporting(check func(tls.ConnectionState) error, report func(error)) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		err := check(s)
		if err != nil {
			report(err)
		}
		return err
	}
}

// clientCreds are the credentials of a connection to a peer.
type clientCreds struct {
	credentials.TransportCredentials
	keep   keeper
	refuse func(error) // nil without TLS
}

func (o clientCreds) ClientHandshake(ctx context.Context, authority string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	m, ok := c.(*meter)
	if !ok {
		return nil, nil, errors.New("a connection that this transport did not open")
	}
	secured, info, err := o.TransportCredentials.ClientHandshake(ctx, authority, c)
	if err == nil {
		err = o.keep.keep(m, info)
	}
	if err != nil {
		return nil, nil, err
	}
	m.allow(peerBytes)
	if o.refuse != nil {
		secured = alertReader{secured, o.refuse}
	}
	return secured, handshake{info, m, nil}, nil
}

func (o clientCreds) Clone() credentials.TransportCredentials {
	return clientCreds{o.TransportCredentials.Clone(), o.keep, o.refuse}
}

// alertReader reports if the other side refuses this side's certificate. The refusal arrives
// after the handshake has ended on this side.
type alertReader struct {
	net.Conn
	refuse func(error)
}

func (v alertReader) Read(b []byte) (int, error) {
	n, err := v.Conn.Read(b)
	if isAlert(err) {
		v.refuse(err)
	}
	return n, err
}

// isAlert says whether an error is a TLS alert of the other side.
func isAlert(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error"
}

// explain adds to an alert where its reason is found.
func explain(err error) error {
	if isAlert(err) {
		return fmt.Errorf("the other side refuses this node, and its log says why: %w", err)
	}
	return err
}
