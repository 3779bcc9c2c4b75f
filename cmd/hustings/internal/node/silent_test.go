package node

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/metrics"
)

// A voter that accepts a connection and says nothing is asked no longer once the node is to end.
func TestAVoterThatSaysNothingIsNotWaitedFor(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, silent.Close()) }()
	free, err := FreeAddresses(1)
	require.NoError(t, err)
	c := Config{
		Node: "n0", Group: "orders", Data: t.TempDir(), New: true, Listen: free[0], TrustNetwork: true,
		Members: []Member{{ID: "n0", Address: free[0]}, {ID: "n1", Address: silent.Addr().String()}},
	}
	n := &node{member: member{metrics: metrics.New(), log: slog.New(slog.DiscardHandler)}, config: c}
	require.NoError(t, n.open())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	open, problems, err := n.silentVoters(ctx, []string{"n1"})
	require.NoError(t, err)
	assert.Equal(t, []string{"n1"}, open)
	require.ErrorContains(t, problems, "canceled")
	require.NoError(t, n.close())
}
