package operator

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// claims is a node with a scripted status and leader.
type claims struct {
	electorpb.UnimplementedOperatorServiceServer
	before   func(ctx context.Context) // called before it answers; nil: nothing
	statuses []elector.Status
	locate   func(ctx context.Context) // called before it lists the members; nil: nothing
	members  []*electorpb.Member
}

func (c claims) Status(ctx context.Context, _ *electorpb.StatusRequest) (*electorpb.StatusResponse, error) {
	if c.before != nil {
		c.before(ctx)
	}
	answer := new(electorpb.StatusResponse)
	for _, s := range c.statuses {
		answer.Statuses = append(answer.Statuses, encodeReport(elector.Report{Status: s}))
	}
	return answer, nil
}

func (c claims) Members(ctx context.Context, _ *electorpb.MembersRequest) (*electorpb.MembersResponse, error) {
	if c.locate != nil {
		c.locate(ctx)
	}
	return &electorpb.MembersResponse{Members: c.members}, nil
}

type silent struct{}

func (silent) Receive([]rpc.Message) {}
func (silent) PeerLost(string)       {}

// at runs such a node until the test ends, and returns its address.
func (c claims) at(t *testing.T) (address string) {
	t.Helper()
	return serve(t, c)
}

// serve runs a node's service until the test ends.
func serve(t *testing.T, node electorpb.OperatorServiceServer) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tr, err := grpcrpc.New(grpcrpc.Config{Self: "n0", Listener: l})
	require.NoError(t, err)
	t.Cleanup(tr.Close)
	electorpb.RegisterOperatorServiceServer(tr.Registrar(), node)
	stop, err := tr.Serve(silent{})
	require.NoError(t, err)
	t.Cleanup(stop)
	return l.Addr().String()
}

// A node names the leader together with the term. A node with several groups has to be asked
// about one.
func TestANodeNamesTheLeaderWithItsTerm(t *testing.T) {
	status := elector.Status{Group: "orders", Self: "n0", Role: memberstate.Leader, Term: 7, Leader: "n0"}
	leads := claims{statuses: []elector.Status{status}}.at(t)
	assert.Equal(t, lead{term: 7, address: leads}, leaderBy(t.Context(), leads, nil, "orders"))

	status.Role, status.Leader = memberstate.Follower, "n1"
	follows := claims{statuses: []elector.Status{status}, members: []*electorpb.Member{{Id: "n2", Address: "other"}, {Id: "n1", Address: "there"}}}.at(t)
	assert.Equal(t, lead{term: 7, address: "there"}, leaderBy(t.Context(), follows, nil, "orders"))

	nowhere := claims{statuses: []elector.Status{status}, members: []*electorpb.Member{{Id: "n1"}}}.at(t)
	found := leaderBy(t.Context(), nowhere, nil, "orders")
	require.ErrorContains(t, found.err, "does not know its address")

	for says, all := range map[string][]elector.Status{
		`"n1" leads group "orders", but the node does not know its address`: {status},
		`no leader is known in term 7 of group "orders"`:                    {{Group: "orders", Self: "n0", Term: 7}},
		"the node has 2 groups; name one":                                   {status, status},
		"the node has 0 groups; name one":                                   nil,
	} {
		found := leaderBy(t.Context(), claims{statuses: all}.at(t), nil, "")
		assert.ErrorContains(t, found.err, says)
		assert.Empty(t, found.address)
	}
}

// Of several leaders that of the latest term counts, in whatever order the answers come.
func TestTheLatestTermCounts(t *testing.T) {
	old, later, down := lead{term: 5, address: "old"}, lead{term: 7, address: "new"}, lead{err: io.EOF}
	for _, come := range [][]lead{{old, later, down}, {later, old, down}, {down, later, old}, {old, down, later}} {
		answers := make(chan lead, len(come))
		for _, one := range come {
			answers <- one
		}
		best, problems := latest(answers, len(come))
		assert.Equal(t, later, best)
		assert.Equal(t, []error{io.EOF}, problems)
	}
}

// After the first answer the others have a short time to name a later term.
func TestTheWaitForFurtherAnswersIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers, began := make(chan lead, 3), time.Now()
		first, later := lead{term: 5, address: "first"}, lead{term: 7, address: "later"}
		answers <- first
		best, _ := latest(answers, 3)
		assert.Equal(t, first, best)
		assert.Equal(t, grace, time.Since(began))

		answers <- first
		time.AfterFunc(grace/2, func() { answers <- later })
		best, _ = latest(answers, 3)
		assert.Equal(t, later, best)
		assert.Equal(t, 2*grace, time.Since(began))
	})
}

// The node that knows the leader may be slow while another one is down: what fails says nothing of when the others answer.
func TestANodeThatFailsDoesNotChangeTheWaitForTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers, began := make(chan lead, 4), time.Now()
		down, slow := lead{err: io.EOF}, lead{term: 5, address: "slow"}
		answers <- down
		time.AfterFunc(2*grace, func() { answers <- slow })
		time.AfterFunc(2*grace+grace/2, func() { answers <- down })
		best, _ := latest(answers, 4)
		assert.Equal(t, slow, best)
		assert.Equal(t, 3*grace, time.Since(began))
	})
}

// When the leader is found, pending calls to nodes that hang are cancelled, although the caller's
// context lives on.
func TestANodeThatHangsIsNotAskedAnyLonger(t *testing.T) {
	for question, where := range map[string]func(c *claims, hang func(context.Context)){
		"who leads": func(c *claims, hang func(context.Context)) { c.before = hang },
		"where":     func(c *claims, hang func(context.Context)) { c.locate = hang },
	} {
		t.Run(question, func(t *testing.T) {
			asked, given := make(chan struct{}), make(chan struct{})
			hangs := claims{statuses: []elector.Status{{Group: "orders", Self: "n1", Role: memberstate.Follower, Term: 7, Leader: "n0"}}}
			where(&hangs, func(ctx context.Context) {
				close(asked)
				<-ctx.Done()
				close(given)
			})
			leads := claims{
				before:   func(context.Context) { <-asked },
				statuses: []elector.Status{{Group: "orders", Self: "n0", Role: memberstate.Leader, Term: 7, Leader: "n0"}},
			}.at(t)
			c, err := DialLeader(context.Background(), []string{hangs.at(t), leads}, nil, "orders")
			require.NoError(t, err)
			require.NoError(t, c.Close())
			select {
			case <-given:
			case <-time.After(20 * time.Second):
				assert.Fail(t, "the call is still pending")
			}
		})
	}
}

// watched is a node that sends a watcher one status, and then waits for the end of the call, or
// ends it with an error.
type watched struct {
	claims
	fails error // nil: it waits
	ended chan struct{}
}

func (w watched) Watch(_ *electorpb.WatchRequest, stream grpc.ServerStreamingServer[electorpb.WatchResponse]) error {
	if err := stream.Send(&electorpb.WatchResponse{Status: encode(elector.Status{Group: "orders", Term: 7})}); err != nil {
		return err
	}
	if w.fails == nil {
		<-stream.Context().Done()
	}
	close(w.ended)
	return w.fails
}

// A watch ends when its loop does, although connection and context live on.
func TestWatchingEndsWhenEnoughWasSeen(t *testing.T) {
	node := watched{ended: make(chan struct{})}
	c, err := Dial(serve(t, node), nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	for now, err := range c.Watch(context.Background(), "orders") {
		require.NoError(t, err)
		require.EqualValues(t, 7, now.Term)
		break
	}
	select {
	case <-node.ended:
	case <-time.After(20 * time.Second):
		assert.Fail(t, "it goes on")
	}
}

// The error of a node comes last, and once.
func TestWatchingEndsWithTheErrorOfTheNode(t *testing.T) {
	c, err := Dial(serve(t, watched{fails: toStatus(elector.ErrStopped), ended: make(chan struct{})}), nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	var terms []memberstate.Term
	var errs []error
	for now, err := range c.Watch(t.Context(), "orders") {
		terms, errs = append(terms, now.Term), append(errs, err)
	}
	assert.Equal(t, []memberstate.Term{7, 0}, terms)
	require.Len(t, errs, 2)
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], elector.ErrStopped)
}
