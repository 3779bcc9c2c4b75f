// Calls that go out.

package grpcrpc

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// Dial is an operator's connection to a node. With files, they are an operator's
// own and the node must have a member's certificate; without, there is no TLS.
// It connects with the first call.
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

// dial is a connection to a peer.
func (t *Transport) dial(address, peer string) (*grpc.ClientConn, error) {
	creds := outgoing{TransportCredentials: insecure.NewCredentials()}
	if t.tls != nil {
		config := t.tls.client(peer)
		creds.TransportCredentials = credentials.NewTLS(config)
		creds.keep = t.tls.keeper(config.VerifyConnection)
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
	return grpc.NewClient("passthrough:///"+address, append(more,
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
		grpc.WithNoProxy(),
	)...)
}

// outgoing is a handshake with a peer that was called.
type outgoing struct {
	credentials.TransportCredentials
	keep keeper
}

func (o outgoing) ClientHandshake(ctx context.Context, authority string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
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
	return secured, visitor{info, m, nil}, nil
}

func (o outgoing) Clone() credentials.TransportCredentials {
	return outgoing{o.TransportCredentials.Clone(), o.keep}
}
