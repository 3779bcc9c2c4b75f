// The reasons of failed calls in plain words.

package grpcrpc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

func TestAReasonIsTheErrorOfTheNetwork(t *testing.T) {
	for want, err := range map[string]error{
		"dial tcp 10.0.0.1:7000: connect: connection refused":           status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:7000: connect: connection refused"`),
		"error reading server preface: EOF (does the node expect TLS?)": status.Error(codes.Unavailable, `connection error: desc = "error reading server preface: EOF"`),
		`the certificate of "CN=n2" is bad`:                             status.Error(codes.Unavailable, `connection error: desc = "transport: the certificate of \"CN=n2\" is bad"`),
		"no answer in time":                                             status.FromContextError(context.DeadlineExceeded).Err(),
		"the connection broke":                                          status.Error(codes.Unavailable, "error reading from server: EOF"),
		"no such group":                                                 status.Error(codes.NotFound, "no such group"),
		"the node refuses the certificate, and its log says why: remote error: tls: bad certificate": status.Error(codes.Unavailable, `connection error: desc = "error reading server preface: remote error: tls: bad certificate"`),
		"broken": errors.New("broken"),
	} {
		assert.Equal(t, want, grpcrpc.Reason(err))
	}
}
