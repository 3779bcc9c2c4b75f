// Calls that go out.

package grpcrpc

import (
	"context"
	"crypto/tls"
	"net"

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
	if files == nil {
		return dial(address, nil)
	}
	r, err := newReloader(*files, Identity{Role: Operator}, func(Refusal, ...any) {})
	if err != nil {
		return nil, err
	}
	return dial(address, r.client(""))
}

// dial is a connection to a peer.
func (t *Transport) dial(address, peer string) (*grpc.ClientConn, error) {
	if t.tls == nil {
		return dial(address, nil)
	}
	return dial(address, t.tls.client(peer))
}

func dial(address string, config *tls.Config) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	var d net.Dialer
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", address)
		}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: handshakeTime}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: aliveEvery, Timeout: aliveWithin, PermitWithoutStream: true}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxPacket)),
		grpc.WithIdleTimeout(0),
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy(),
	)
}
