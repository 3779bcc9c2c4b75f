// A connection carries one exchange.

package grpcrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// The connection is that of a peer, and the second Hello is as correct as the first. The log says
// why the connection ends.
func TestTheSecondExchangeOverAConnectionEndsIt(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	conn := s.caller(s.issue(s.authority, grpcrpc.Member, "a2", "a2", 1e12))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	open := func() grpc.BidiStreamingClient[electorpb.Packet, electorpb.Packet] {
		t.Helper()
		stream, err := electorpb.NewMemberServiceClient(conn).Exchange(ctx)
		require.NoError(t, err)
		_ = stream.Send(helloFromA2()) // if this fails Recv says why
		return stream
	}
	first := open()
	p, err := first.Recv()
	require.NoError(t, err)
	require.Equal(t, "b", p.GetHello().GetFrom())
	_, err = open().Recv()
	assert.Equal(t, codes.Unavailable, status.Code(err), err)
	_, err = first.Recv()
	assert.Error(t, err)
	s.holds(grpcrpc.RefusedPeer, 1)
	s.tells("reason=peer", "a connection carries one exchange")
}
