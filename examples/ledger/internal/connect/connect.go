// Package connect has the options of all connections between nodes, and between clients and nodes. A connection that breaks is tried again within a
// second, and one that is silent is given up; gRPC by itself would wait for up to two minutes.
package connect

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// To makes a connection, which is opened by the first call.
func To(address string) (*grpc.ClientConn, error) {
	again := backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}
	return grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithIdleTimeout(0),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second, PermitWithoutStream: true}),
	)
}

// Server makes a server for such connections.
func Server() *grpc.Server {
	return grpc.NewServer(grpc.MaxConcurrentStreams(1024), grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}))
}
