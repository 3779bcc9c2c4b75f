// The question whether a peer knows a node.

package grpcrpc_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// A peer without Config.Knows answers that it may know the node.
func TestAPeerSaysWhetherItKnowsANode(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b", "c")
	a, _ := w.serve("a")
	files := certs.Files(w.dir, "b")
	peers := maps.Clone(w.addresses)
	delete(peers, "b")
	b, err := grpcrpc.New(grpcrpc.Config{
		Self: "b", Listener: w.listeners["b"], Peers: peers, TLS: &files,
		Knows: func(peer, group string) bool { return peer == "a" && group == "orders" },
	})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	w.listenTo(b)

	known, err := a.KnownBy(t.Context(), "b", "orders")
	require.NoError(t, err)
	assert.True(t, known)
	known, err = a.KnownBy(t.Context(), "b", "users")
	require.NoError(t, err)
	assert.False(t, known)
	known, err = b.KnownBy(t.Context(), "a", "orders")
	require.NoError(t, err)
	assert.True(t, known, "a has no Config.Knows")
	_, err = a.KnownBy(t.Context(), "d", "orders")
	assert.ErrorContains(t, err, `"d" is no peer`)
	require.NoError(t, w.listeners["c"].Close())
	_, err = a.KnownBy(t.Context(), "c", "orders")
	assert.ErrorContains(t, err, "refused")
}

// Only a member may ask, and only about itself.
func TestAQuestionAboutAnotherNodeIsRefused(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	own := certs.Files(s.dir, "c")
	conn := s.caller(&own)
	for says, q := range map[string]*electorpb.KnowsRequest{
		"that of hustings://member/c": {From: "a", To: "b", Group: "orders"},
		"this is node b":              {From: "c", To: "x", Group: "orders"},
	} {
		_, err := electorpb.NewMemberServiceClient(conn).Knows(t.Context(), q)
		assert.ErrorContains(t, err, says)
	}
	s.holds(grpcrpc.RefusedIdentity, 2)
	operator := s.issue(s.authority, grpcrpc.Operator, "alice", "alice", patience)
	_, err := electorpb.NewMemberServiceClient(s.caller(operator)).Knows(t.Context(), &electorpb.KnowsRequest{From: "a", To: "b"})
	assert.ErrorContains(t, err, "is for a certificate of the role member")
}
