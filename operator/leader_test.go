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

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// claims is a node that says who it is, and who leads.
type claims struct {
	electorpb.UnimplementedOperatorServiceServer
	before   func(ctx context.Context) // comes before it says so; nil: nothing
	statuses []elector.Status
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

func (c claims) Members(context.Context, *electorpb.MembersRequest) (*electorpb.MembersResponse, error) {
	return &electorpb.MembersResponse{Members: c.members}, nil
}

type silent struct{}

func (silent) Receive([]rpc.Message) {}
func (silent) PeerLost(string)       {}

// at is where such a node is, until the test ends.
func (c claims) at(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tr, err := grpcrpc.New(grpcrpc.Config{Self: "n0", Listener: l})
	require.NoError(t, err)
	t.Cleanup(tr.Close)
	electorpb.RegisterOperatorServiceServer(tr.Registrar(), c)
	stop, err := tr.Serve(silent{})
	require.NoError(t, err)
	t.Cleanup(stop)
	return l.Addr().String()
}

// What a node says of the leader comes with the term that it says it of. A node that is in
// several groups has to be asked about one.
func TestWhoLeadsInWhichTerm(t *testing.T) {
	status := elector.Status{Group: "orders", Self: "n0", Role: memberstate.Leader, Term: 7, Leader: "n0"}
	leads := claims{statuses: []elector.Status{status}}.at(t)
	assert.Equal(t, lead{term: 7, address: leads}, leaderBy(t.Context(), leads, nil, "orders"))

	status.Role, status.Leader = memberstate.Follower, "n1"
	follows := claims{statuses: []elector.Status{status}, members: []*electorpb.Member{{Id: "n2", Address: "other"}, {Id: "n1", Address: "there"}}}.at(t)
	assert.Equal(t, lead{term: 7, address: "there"}, leaderBy(t.Context(), follows, nil, "orders"))

	for says, all := range map[string][]elector.Status{
		"does not know where it is": {status},
		"no leader is known":        {{Group: "orders", Self: "n0", Term: 7}},
		"the node has 2 groups":     {status, status},
		"the node has 0 groups":     nil,
	} {
		found := leaderBy(t.Context(), claims{statuses: all}.at(t), nil, "")
		assert.ErrorContains(t, found.err, says)
		assert.Empty(t, found.address)
	}
}

// Of several leaders that of the latest term counts, whoever answers first.
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

// The others have a while to say that they know of a later term, and no longer.
func TestTheOthersAreWaitedForALittle(t *testing.T) {
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

// When the leader is found nothing goes on: a node that hangs is not asked any longer, though
// the context of whoever asked lives on.
func TestANodeThatHangsIsNotAskedAnyLonger(t *testing.T) {
	asked, given := make(chan struct{}), make(chan struct{})
	hangs := claims{before: func(ctx context.Context) {
		close(asked)
		<-ctx.Done()
		close(given)
	}}.at(t)
	leads := claims{
		before:   func(context.Context) { <-asked },
		statuses: []elector.Status{{Group: "orders", Self: "n0", Role: memberstate.Leader, Term: 7, Leader: "n0"}},
	}.at(t)
	c, err := DialLeader(context.Background(), []string{hangs, leads}, nil, "orders")
	require.NoError(t, err)
	require.NoError(t, c.Close())
	select {
	case <-given:
	case <-time.After(20 * time.Second):
		assert.Fail(t, "it is still being asked")
	}
}
