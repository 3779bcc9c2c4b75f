package operator

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
)

// older is a node of a version that has neither Summary nor Statuses.
type older struct {
	electorpb.UnimplementedOperatorServiceServer
	node *service
}

func (o older) Status(ctx context.Context, q *electorpb.StatusRequest) (*electorpb.StatusResponse, error) {
	return o.node.Status(ctx, q)
}

// dialled returns a client of a service, over loopback.
func dialled(t *testing.T, s electorpb.OperatorServiceServer) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	electorpb.RegisterOperatorServiceServer(server, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		assert.NoError(t, <-ended)
	})
	c, err := Dial(l.Addr().String(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func groupsOf(kind string, count int) (names []string) {
	for i := range count {
		names = append(names, fmt.Sprintf("%s-%06d", kind, i))
	}
	return names
}

// All groups come once, in order, in several messages; from an older node, too.
func TestStatusesOfManyGroupsAreStreamed(t *testing.T) {
	orders, stock := groupsOf("orders", 2*together+1), groupsOf("stock", together)
	node := serviceOf(t, append(slices.Clone(stock), orders...)...)
	for version, c := range map[string]*Client{"present": dialled(t, node), "older": dialled(t, older{node: node})} {
		for prefix, want := range map[string][]string{"": slices.Concat(orders, stock), "orders-": orders, "stock": stock, "x": nil} {
			var names []string
			for r, err := range c.Statuses(t.Context(), prefix) {
				require.NoError(t, err, version)
				assert.Equal(t, "n0", r.Self)
				names = append(names, r.Group)
			}
			assert.Equal(t, want, names, version)
			sum, err := c.Summary(t.Context(), prefix, 3)
			require.NoError(t, err, version)
			assert.Equal(t, len(want), sum.Groups, version)
			assert.Equal(t, len(want), sum.Starting, version)
		}
		for _, err := range c.Statuses(t.Context(), "") {
			require.NoError(t, err, version)
			break // and nothing goes on
		}
	}
}

// A client that wants all in one message is told why that is not possible.
func TestTooManyStatusesForOneMessageAreRefused(t *testing.T) {
	fits, err := serviceOf(t, groupsOf("g", mostTogether)...).Status(t.Context(), new(electorpb.StatusRequest))
	require.NoError(t, err)
	assert.Len(t, fits.GetStatuses(), mostTogether)
	node := serviceOf(t, groupsOf("g", mostTogether+1)...)
	c := dialled(t, node)
	_, err = c.Status(t.Context(), "")
	assert.ErrorContains(t, err, "the node has 10001 groups")
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	all, err := c.Status(t.Context(), "g-000007")
	require.NoError(t, err)
	assert.Len(t, all, 1)
	old := dialled(t, older{node: node})
	_, err = old.Summary(t.Context(), "", 1)
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	for _, err = range old.Statuses(t.Context(), "") {
		assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	}
	require.Error(t, err)
}

func TestAStreamOfStatusesThatIsGivenUpIsAnError(t *testing.T) {
	c := dialled(t, serviceOf(t, "orders"))
	ctx, leave := context.WithCancel(t.Context())
	leave()
	var err error
	for _, err = range c.Statuses(ctx, "") {
		assert.ErrorIs(t, err, context.Canceled)
	}
	require.Error(t, err)
	_, err = c.Summary(ctx, "", 0)
	assert.ErrorIs(t, err, context.Canceled)
}

// deafEnd is a stream that fails to send.
type deafEnd struct {
	grpc.ServerStream
	ctx  context.Context
	sent int
}

func (d *deafEnd) Context() context.Context { return d.ctx }

func (d *deafEnd) Send(*electorpb.StatusesResponse) error {
	d.sent++
	return assert.AnError
}

func TestAStreamOfStatusesEndsWhenNothingCanBeSent(t *testing.T) {
	end := &deafEnd{ctx: t.Context()}
	node := serviceOf(t, groupsOf("g", 3*together)...)
	assert.ErrorIs(t, node.Statuses(new(electorpb.StatusesRequest), end), assert.AnError)
	assert.Equal(t, 1, end.sent)
	// A group that runs is measured by its loop, for as long as the caller waits.
	s, _, hold := running(t)
	hold <- struct{}{}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	assert.Equal(t, codes.Canceled, status.Code(s.Statuses(new(electorpb.StatusesRequest), &deafEnd{ctx: ctx})))
	<-hold
}

func TestASummaryCountsGroupsAndShowsSomeThatNeedAttention(t *testing.T) {
	s := newSummary()
	for _, now := range []elector.Status{
		{Group: "a", Self: "n0"},
		{Group: "b", Self: "n0", Revision: 1, Term: 7, Role: memberstate.Leader, Leader: "n0"},
		{Group: "c", Self: "n0", Revision: 1, Term: 5, Role: memberstate.Follower, Leader: "n1"},
		{Group: "d", Self: "n0", Revision: 1, Term: 9, Role: memberstate.Follower, Leader: "n1", Inability: protocol.NotAbleDisk},
		{Group: "e", Self: "n0", Revision: 1, Term: 6, Role: memberstate.Candidate},
		{Group: "f", Self: "n0", Revision: 1, Term: 6, Role: memberstate.Candidate, Inability: protocol.NotAbleOrdered},
	} {
		s.add(now, 2)
	}
	want := &Summary{
		Node: "n0", Groups: 6, Starting: 1,
		Roles:   map[memberstate.Role]int{memberstate.Leader: 1, memberstate.Follower: 2, memberstate.Candidate: 2},
		Leaders: map[string]int{"n0": 1, "n1": 2}, Leaderless: 2,
		Unable:     map[elector.Inability]int{protocol.NotAbleDisk: 1, protocol.NotAbleOrdered: 1},
		LowestTerm: 5, HighestTerm: 9, Troubled: 3,
		Examples: []elector.Status{
			{Group: "d", Self: "n0", Revision: 1, Term: 9, Role: memberstate.Follower, Leader: "n1", Inability: protocol.NotAbleDisk},
			{Group: "e", Self: "n0", Revision: 1, Term: 6, Role: memberstate.Candidate},
		},
	}
	assert.Equal(t, want, s)
	assertFull(t, *s)
	assert.Equal(t, want, decodeSummary(encodeSummary(s)))
}

// A group that has had no election is in term 0, and an operator looks for it.
func TestASummaryShowsThatAGroupHasHadNoTerm(t *testing.T) {
	s := newSummary()
	s.add(elector.Status{Group: "a", Revision: 1}, 0)
	s.add(elector.Status{Group: "b", Revision: 1, Term: 7}, 0)
	assert.Zero(t, s.LowestTerm)
	assert.EqualValues(t, 7, s.HighestTerm)
}

// Whatever a client asks for, an answer stays small.
func TestTheNodeBoundsTheExamples(t *testing.T) {
	node := serviceOf(t, groupsOf("g", mostExamples+1)...) // whose other voter is not there
	require.NoError(t, node.host.StartAll())
	answer, err := node.Summary(t.Context(), &electorpb.SummaryRequest{Examples: 1 << 31})
	require.NoError(t, err)
	assert.Len(t, answer.GetExamples(), mostExamples)
	assert.EqualValues(t, mostExamples+1, answer.GetTroubled())
	for version, c := range map[string]*Client{"present": dialled(t, node), "older": dialled(t, older{node: node})} {
		sum, err := c.Summary(t.Context(), "", 3)
		require.NoError(t, err, version)
		assert.Len(t, sum.Examples, 3, "as many as were asked for, by a node of the %s version", version)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, node.host.Close(stopped))
}
