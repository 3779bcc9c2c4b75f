package grpcrpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

// The address of a peer is dialed as it is, although gRPC reads addresses as URLs, in which some characters have a
// meaning: a link-local address names its network after a percent sign.
func TestAnAddressWithAZoneIsDialedAsItIs(t *testing.T) {
	const address = "[fe80::1%nowhere]:1"
	a, err := grpcrpc.New(grpcrpc.Config{Self: "a", Listener: listenAnywhere(t), Peers: map[string]string{"b": address}})
	require.NoError(t, err)
	t.Cleanup(a.Close)
	known, err := a.KnownBy(t.Context(), "b", "g")
	assert.ErrorContains(t, err, "dial tcp "+address)
	assert.False(t, known)
}
