// Certificates with intermediate ones.

package grpcrpc_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// A certificate may be followed by those of intermediate authorities. One that is of no use does
// no harm.
func TestACertificateMayBeFollowedByOthers(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	files := s.issue(s.authority, grpcrpc.Member, "a2", "chain", time.Hour)
	other := s.issue(s.authority, grpcrpc.Member, "c", "other", time.Hour)
	own, err := os.ReadFile(files.Cert)
	require.NoError(t, err)
	behind, err := os.ReadFile(other.Cert)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.Cert, append(own, behind...), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := electorpb.NewMemberServiceClient(s.caller(files)).Exchange(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(helloFromA2()))
	p, err := stream.Recv()
	require.NoError(t, err)
	assert.Equal(t, "b", p.GetHello().GetFrom())
}
