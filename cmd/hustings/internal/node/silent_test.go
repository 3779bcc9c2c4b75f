package node

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hustings/hustings/metrics"
	"github.com/hustings/hustings/proto/electorpb"
)

// asking opens node n0, whose peer n1 is at an address.
func asking(t *testing.T, voter net.Addr) *node {
	t.Helper()
	free, err := FreeAddresses(1)
	require.NoError(t, err)
	c := Config{
		Node: "n0", Group: "orders", Data: t.TempDir(), New: true, Listen: free[0], TrustNetwork: true,
		Members: []Member{{ID: "n0", Address: free[0]}, {ID: "n1", Address: voter.String()}},
	}
	n := &node{member: member{metrics: metrics.New(), log: slog.New(slog.DiscardHandler)}, config: c}
	require.NoError(t, n.open())
	return n
}

// A voter that accepts a connection and says nothing is asked no longer once the node is to end.
func TestAVoterThatSaysNothingIsNotWaitedFor(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, silent.Close()) }()
	n := asking(t, silent.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	open, problems, err := n.silentVoters(ctx, []string{"n1"})
	require.NoError(t, err)
	assert.Equal(t, []string{"n1"}, open)
	require.ErrorContains(t, problems, "canceled")
	require.NoError(t, n.close())
}

// timedVoter is a voter that records how long it is waited for.
type timedVoter struct {
	electorpb.UnimplementedMemberServiceServer
	wait time.Duration // 0: for ever
}

func (v *timedVoter) Knows(ctx context.Context, _ *electorpb.KnowsRequest) (*electorpb.KnowsResponse, error) {
	if until, ends := ctx.Deadline(); ends {
		v.wait = time.Until(until)
	}
	return new(electorpb.KnowsResponse), nil
}

// The answer of a voter waits for its disk, which may hang while its connection lives. The others must be asked again all the same.
func TestAVoterIsWaitedForWithPatience(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	voter, server := new(timedVoter), grpc.NewServer()
	electorpb.RegisterMemberServiceServer(server, voter)
	var serving sync.WaitGroup
	serving.Go(func() { assert.NoError(t, server.Serve(listener)) })
	n := asking(t, listener.Addr())
	open, problems, err := n.silentVoters(t.Context(), []string{"n1"})
	require.NoError(t, err)
	require.NoError(t, problems)
	assert.Empty(t, open)
	assert.Positive(t, voter.wait)
	assert.LessOrEqual(t, voter.wait, patience)
	require.NoError(t, n.close())
	server.Stop()
	serving.Wait()
}
