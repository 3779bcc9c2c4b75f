// Nodes that know the other members of their group, so that one address is enough.

package cli

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/proto/electorpb"
)

// acquainted is a node that knows another member.
type acquainted struct {
	electorpb.UnimplementedOperatorServiceServer
	self, other, at string
	watched         chan string
}

func (n *acquainted) now() *electorpb.Status {
	return &electorpb.Status{Group: "orders", Node: n.self, Term: 1, Leader: "n0"}
}

func (n *acquainted) Status(context.Context, *electorpb.StatusRequest) (*electorpb.StatusResponse, error) {
	return &electorpb.StatusResponse{Statuses: []*electorpb.Status{n.now()}}, nil
}

func (n *acquainted) Members(context.Context, *electorpb.MembersRequest) (*electorpb.MembersResponse, error) {
	return &electorpb.MembersResponse{Members: []*electorpb.Member{{Id: n.self}, {Id: n.other, Address: n.at}}}, nil
}

func (n *acquainted) Watch(_ *electorpb.WatchRequest, stream grpc.ServerStreamingServer[electorpb.WatchResponse]) error {
	n.watched <- n.self
	if err := stream.Send(&electorpb.WatchResponse{Status: n.now()}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func TestTheOthersOfAGroupAreWatchedToo(t *testing.T) {
	t.Parallel()
	watched := make(chan string, 2)
	other := serving(t, &acquainted{self: "n1", other: "n0", at: "127.0.0.1:1", watched: watched})
	one := serving(t, &acquainted{self: "n0", other: "n1", at: other, watched: watched})
	ctx, interrupt := context.WithTimeout(t.Context(), enough)
	defer interrupt()
	cmd := newWatch()
	cmd.SetArgs([]string{"-a", one, "--group", "orders"})
	cmd.SetOut(new(page))
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	var both []string
	for range 2 {
		select {
		case self := <-watched:
			both = append(both, self)
		case <-ctx.Done():
		}
	}
	interrupt()
	require.NoError(t, <-ended)
	assert.ElementsMatch(t, []string{"n0", "n1"}, both)
}

// Whoever looks at a group sees which of its nodes is gone, and that is no failure of the command.
func TestAMemberThatIsGoneIsShownByItsName(t *testing.T) {
	t.Parallel()
	gone, err := node.FreeAddresses(1)
	require.NoError(t, err)
	lines := succeed(t, "status", "-a", serving(t, &acquainted{self: "n0", other: "n1", at: gone[0]}), "--group", "orders", "--json")
	require.Len(t, lines, 2)
	var s shownStatus
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &s))
	assert.Contains(t, s.Error, "connection refused")
	s.Error = ""
	assert.Equal(t, shownStatus{Address: gone[0], Node: "n1", Group: "orders"}, s)
}
