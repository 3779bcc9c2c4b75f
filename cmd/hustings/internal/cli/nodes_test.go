// Commands about whole nodes, of which some say something unusual.

package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// obedient is a node that does what it is told to.
type obedient struct {
	electorpb.UnimplementedOperatorServiceServer
	says *electorpb.NodesResponse // nil: it does not say what has become of it
}

func (*obedient) Undrain(context.Context, *electorpb.UndrainRequest) (*electorpb.UndrainResponse, error) {
	return new(electorpb.UndrainResponse), nil
}

func (*obedient) Protect(context.Context, *electorpb.ProtectRequest) (*electorpb.ProtectResponse, error) {
	return new(electorpb.ProtectResponse), nil
}

func (o *obedient) Nodes(ctx context.Context, q *electorpb.NodesRequest) (*electorpb.NodesResponse, error) {
	if o.says == nil {
		return o.UnimplementedOperatorServiceServer.Nodes(ctx, q)
	}
	return o.says, nil
}

// A node that nobody has asked for by its address may be silent: it is shown, and the command does not fail.
func TestANodeThatOthersKnowMayBeSilent(t *testing.T) {
	t.Parallel()
	gone, err := node.FreeAddresses(1)
	require.NoError(t, err)
	address := serving(t, &obedient{says: &electorpb.NodesResponse{
		Node: "n0", Groups: 1, Progress: new(electorpb.Progress), Peers: []*electorpb.Peer{{Id: "n1", Address: gone[0]}},
	}})
	lines := succeed(t, "nodes", "-a", address, "--json")
	require.Len(t, lines, 2)
	var row nodeRow
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &row))
	assert.Equal(t, "n1", row.Node)
	assert.Equal(t, gone[0], row.Address)
	assert.Contains(t, row.Error, "connection refused")
	code, _, _ := run("nodes", "-a", gone[0])
	assert.Equal(t, exitFailed, code, "it was asked for")
}

// What has become of a node is not made up.
func TestANodeThatDoesNotSayWhatHasBecomeOfIt(t *testing.T) {
	t.Parallel()
	address := serving(t, new(obedient))
	for _, command := range [][]string{{"undrain"}, {"undrain", "--json"}, {"protect", "on"}} {
		code, stdout, stderr := run(append(command, "-a", address)...)
		assert.Equal(t, exitFailed, code)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, "the node runs a version of hustings that does not know this call")
	}
}

// An operator who has undrained it should not wonder why it does not lead.
func TestANodeThatStartsServesWhenItsEngineIsReady(t *testing.T) {
	t.Parallel()
	address := serving(t, &obedient{says: &electorpb.NodesResponse{Node: "n0", Progress: &electorpb.Progress{State: electorpb.NodeState_NODE_STATE_STARTING}}})
	assert.Equal(t, []string{"n0 at " + address + " will take its share of leading when its engine is ready"}, succeed(t, "undrain", "-a", address))
}

// failsOnce fails to print the first line.
type failsOnce struct{ failed bool }

func (f *failsOnce) Write(p []byte) (int, error) {
	if !f.failed {
		f.failed = true
		return 0, assert.AnError
	}
	return len(p), nil
}

func TestAnAnswerThatCouldNotBePrintedIsAnError(t *testing.T) {
	t.Parallel()
	address := serving(t, &obedient{says: &electorpb.NodesResponse{Node: "n0", Progress: new(electorpb.Progress)}})
	cmd := newProtect()
	cmd.SetArgs([]string{"on", "-a", address, "-a", address})
	cmd.SetOut(new(failsOnce))
	cmd.SetErr(new(page))
	assert.ErrorIs(t, cmd.ExecuteContext(t.Context()), assert.AnError)
}

// resigning is a node that resigns, and then knows these leaders, one after the other.
type resigning struct {
	electorpb.UnimplementedOperatorServiceServer
	next  []string
	asked chan string // the groups that it is asked about
}

func (r resigning) Status(_ context.Context, q *electorpb.StatusRequest) (*electorpb.StatusResponse, error) {
	r.asked <- q.GetGroup()
	return &electorpb.StatusResponse{Statuses: []*electorpb.Status{{Group: "orders", Node: "n0", Term: 1, Leader: "n0"}}}, nil
}

func (r resigning) Resign(_ context.Context, q *electorpb.ResignRequest) (*electorpb.ResignResponse, error) {
	r.asked <- q.GetGroup()
	return new(electorpb.ResignResponse), nil
}

func (r resigning) Transfer(_ context.Context, q *electorpb.TransferRequest) (*electorpb.TransferResponse, error) {
	r.asked <- q.GetGroup() + " to " + q.GetTo()
	return new(electorpb.TransferResponse), nil
}

func (r resigning) Settings(_ context.Context, q *electorpb.SettingsRequest) (*electorpb.SettingsResponse, error) {
	r.asked <- q.GetGroup()
	return new(electorpb.SettingsResponse), nil
}

func (r resigning) Watch(q *electorpb.WatchRequest, stream grpc.ServerStreamingServer[electorpb.WatchResponse]) error {
	r.asked <- q.GetGroup()
	for _, leader := range r.next {
		if err := stream.Send(&electorpb.WatchResponse{Status: &electorpb.Status{Group: "orders", Node: "n0", Term: 2, Leader: leader}}); err != nil {
			return err
		}
	}
	return nil
}

func TestTheNextLeaderIsWaitedFor(t *testing.T) {
	t.Parallel()
	leader := resigning{next: []string{"", "n1"}, asked: make(chan string, 6)}
	lines := succeed(t, "resign", "-a", serving(t, leader), "--group", "orders")
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "leader n1")
	for range 3 {
		assert.Equal(t, "orders", <-leader.asked)
	}
	for _, order := range []string{"resign", "transfer"} {
		lines = succeed(t, order, "-a", serving(t, resigning{next: []string{"n1"}, asked: make(chan string, 3)}), "--json")
		require.Len(t, lines, 1)
		var s shownStatus
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &s))
		assert.Equal(t, "n1", s.Leader)
	}
	leader.next = []string{""}
	stderr := fail(t, exitFailed, "resign", "-a", serving(t, leader), "--timeout", "20s")
	assert.Contains(t, stderr, "the leader has done it, but no node led within 20s")
}

// A node may have many groups, and an order for the wrong one does harm.
func TestOrdersAreForTheGroupThatIsNamed(t *testing.T) {
	t.Parallel()
	leader := resigning{next: []string{"n1"}, asked: make(chan string, 4)}
	address := serving(t, leader)
	succeed(t, "transfer", "-a", address, "--group", "orders", "--to", "n1")
	for _, want := range []string{"orders", "orders to n1", "orders"} {
		assert.Equal(t, want, <-leader.asked)
	}
	succeed(t, "settings", "-a", address, "--group", "orders", "--electable=false")
	assert.Equal(t, "orders", <-leader.asked)
	assert.Empty(t, leader.asked)
}

// observed is a node that says who the members of its group are.
type observed struct{ resigning }

func (observed) Members(context.Context, *electorpb.MembersRequest) (*electorpb.MembersResponse, error) {
	return new(electorpb.MembersResponse), nil
}

// Nor are changes of another group shown.
func TestTheGroupThatIsNamedIsWatched(t *testing.T) {
	t.Parallel()
	n := observed{resigning{next: []string{"n1"}, asked: make(chan string, 6)}}
	ctx, interrupt := context.WithCancel(t.Context())
	cmd := newWatch()
	cmd.SetArgs([]string{"-a", serving(t, n), "--group", "orders"})
	cmd.SetOut(begun(interrupt))
	require.NoError(t, cmd.ExecuteContext(ctx))
	for _, call := range []string{"Status", "Watch"} {
		assert.Equal(t, "orders", <-n.asked, call)
	}
}

// Each command passes its --timeout on to what it asks, however many nodes it asks.
func TestEachAnswerHasTheTimeThatWasGiven(t *testing.T) {
	o := operation{timeout: time.Hour}
	earliest := time.Now().Add(o.timeout)
	all := askEach(t.Context(), &o, []string{"127.0.0.1:1", "127.0.0.1:2"}, nil, func(ctx context.Context, _ *operator.Client) (time.Time, error) {
		until, limited := ctx.Deadline()
		assert.True(t, limited)
		return until, nil
	})
	latest := time.Now().Add(o.timeout)
	for _, a := range all {
		require.NoError(t, a.err)
		assert.WithinRange(t, a.now, earliest, latest, a.address)
	}
}

// Nothing is asked without the certificates that were given.
func TestNodesAreNotAskedWithoutTheCertificatesThatWereGiven(t *testing.T) {
	t.Parallel()
	address := serving(t, &obedient{says: &electorpb.NodesResponse{Node: "n0", Progress: new(electorpb.Progress)}})
	missing := t.TempDir() + "/missing.pem"
	for _, command := range [][]string{{"nodes"}, {"protect", "on"}, {"drain"}, {"undrain"}, {"table"}} {
		command = append(command, "-a", address)
		assert.Contains(t, fail(t, exitUsage, append(command, "--ca", missing)...), "TLS needs --tls", command)
		code, stdout, stderr := run(append(command, "--ca", missing, "--cert", missing, "--key", missing)...)
		assert.Equal(t, exitFailed, code, command)
		assert.Contains(t, stdout+stderr, "missing.pem: no such file or directory", command)
	}
}

// The newest word counts, whoever has heard it.
func TestTheNewestWordOfANodeCounts(t *testing.T) {
	heard := func(ago time.Duration, state rpc.NodeState) operator.Nodes {
		p := protocol.Peer{ID: "n9", Known: true, Heard: true, Silence: ago}
		p.Standing.State = state
		return operator.Nodes{Peers: []operator.Peer{{Peer: p, Address: "n9:7000"}}}
	}
	answers := []nodeAnswer{
		{address: "n2:7000", err: assert.AnError},
		{address: "n1:7000", err: assert.AnError},
		{now: heard(3*time.Second, rpc.Serving)},
		{now: heard(time.Second, rpc.Draining)},
		{now: heard(2*time.Second, rpc.Drained)},
	}
	for i, id := range []string{"a", "b", "c"} {
		answers[2+i].now.Self, answers[2+i].address = id, id+":7000"
	}
	former := heard(time.Second, rpc.Draining).Peers[0]
	former.ID, former.Address = "a", "a:7000"
	answers[3].now.Peers = append(answers[3].now.Peers, former)
	var table strings.Builder
	require.NoError(t, printNodes(&table, nodeRows(answers), false))
	lines := strings.Split(table.String(), "\n")
	assert.Regexp(t, `^a +a:7000 +serving .* 1s ago by b`, lines[3], "its own word counts more")
	assert.Regexp(t, `^- +n1:7000 `, lines[1], "nodes without a name come first, by their addresses")
	assert.Regexp(t, `^- +n2:7000 `, lines[2])
	assert.Regexp(t, `^n9 +n9:7000 +draining +- +- +- +1s ago by b `, lines[6])
}

// Weights and capacities are shown where they are not what everybody takes them to be.
func TestOnlyUnusualWeightsAndCapacitiesAreShown(t *testing.T) {
	t.Parallel()
	shown := func(p *electorpb.Progress, peer *electorpb.Peer) (line, row string) {
		address := serving(t, &obedient{says: &electorpb.NodesResponse{Node: "n0", Groups: 9000, Progress: p, Peers: []*electorpb.Peer{peer}}})
		return succeed(t, "nodes", "-a", address)[1], strings.Join(succeed(t, "nodes", "-a", address, "--json"), "\n")
	}
	line, row := shown(&electorpb.Progress{Led: 1000, Weight: 1000, Capacity: 100}, &electorpb.Peer{Id: "n1", Led: 5, Weight: 5, Capacity: 100})
	assert.Regexp(t, ` 9,000 +1,000 +0 +-$`, strings.TrimSpace(line))
	assert.NotContains(t, line+row, "weight")
	assert.NotContains(t, line+row, "capacity")
	line, row = shown(&electorpb.Progress{Led: 1000}, &electorpb.Peer{Id: "n1"})
	assert.NotContains(t, line+row, "weight", "older versions know none")
	assert.NotContains(t, line+row, "capacity")
	line, row = shown(&electorpb.Progress{Led: 1000, Weight: 4002, Capacity: 200, Protected: true}, &electorpb.Peer{Id: "n1", Led: 5, Weight: 7, Capacity: 50})
	assert.Regexp(t, ` 9,000 +1,000 \(weight 4,002\) +0 +- +capacity 200, protected$`, line)
	assert.Contains(t, row, `"weight":4002,"capacity":200`)
	assert.Contains(t, row, `"heard_by":[{"node":"n0","weight":7,"capacity":50}]`)
}
