// Package grpcrpc is an [rpc.Transport] over gRPC, with mutual TLS.
package grpcrpc
