package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// crowded runs a node that leads count groups by itself, and in 12 more waits for another voter. It returns
// its address.
func crowded(t *testing.T, count int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tr, err := grpcrpc.New(grpcrpc.Config{Self: "n0", Listener: l})
	require.NoError(t, err)
	t.Cleanup(tr.Close)
	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: tr})
	require.NoError(t, err)
	operator.Register(tr.Registrar(), host, tr.Address)
	join := func(group string, voters ...string) {
		_, err := host.Join(elector.GroupConfig{
			Group: group, Members: memberstate.Voters(voters...), Timing: elector.DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(t, err)
	}
	for i := range count {
		join(fmt.Sprintf("led-%04d", i), "n0")
	}
	for i := range 12 {
		join(fmt.Sprintf("waits-%02d", i), "n0", "n1")
	}
	require.NoError(t, host.StartAll())
	t.Cleanup(func() {
		stopped, cancel := context.WithCancel(context.Background())
		cancel()
		assert.NoError(t, host.Close(stopped))
	})
	return l.Addr().String()
}

// summed waits until the node leads what it can, and returns what status prints.
func summed(t *testing.T, address string, led int, args ...string) []string {
	t.Helper()
	var stdout string
	require.Eventually(t, func() bool {
		_, stdout, _ = run(append([]string{"status", "-a", address}, args...)...)
		return strings.Contains(stdout, fmt.Sprintf("leader %d", led))
	}, enough, 1e7, "%s", &stdout)
	return strings.Split(strings.TrimSpace(stdout), "\n")
}

// A node with many groups counts them, and shows a few of those that need attention.
func TestManyGroupsAreCounted(t *testing.T) {
	t.Parallel()
	address := crowded(t, 300)
	lines := summed(t, address, 300)
	assert.Equal(t, "n0 at "+address+" has 312 groups, in terms 0 to 1", lines[0])
	assert.Equal(t, "  it is         candidate 12, leader 300", lines[1])
	assert.Equal(t, "  the leader is n0 300", lines[2])
	assert.Equal(t, "  no leader     12", lines[3])
	assert.Equal(t, "12 groups have no leader, or this node is not able to lead them; the first 10:", lines[4])
	assert.Regexp(t, `^GROUP +ROLE +TERM +LEADER +LAST LEADER$`, lines[5])
	assert.Regexp(t, `^waits-00 +candidate +0 +- +-$`, lines[6])
	assert.Len(t, lines, 4+1+1+10+1+1)
	assert.Contains(t, lines[len(lines)-1], "--all")

	lines = summed(t, address, 100, "-a", strings.Replace(address, "127.0.0.1", "localhost", 1), "--prefix", "led-00")
	assert.Contains(t, lines[0], ` has 100 groups whose names begin with "led-00", in terms 1 to 1`)
	assert.Len(t, lines, 3+1+1, "without those that need attention, and the node only once")
}

// --all and --json list every group, --prefix some, and --group one.
func TestManyGroupsAreListedIfThatIsAskedFor(t *testing.T) {
	t.Parallel()
	address := crowded(t, 300)
	summed(t, address, 300)
	lines := succeed(t, "status", "-a", address, "--all")
	require.Len(t, lines, 1+312)
	assert.Regexp(t, `^led-0000 +n0 .* leader`, lines[1])
	lines = succeed(t, "status", "-a", address, "--json")
	require.Len(t, lines, 312)
	for i, line := range lines[:300] {
		var s shownStatus
		require.NoError(t, json.Unmarshal([]byte(line), &s))
		assert.Equal(t, fmt.Sprintf("led-%04d", i), s.Group)
		assert.Equal(t, "leader", s.Role)
	}
	assert.Len(t, succeed(t, "status", "-a", address, "--prefix", "led-001"), 1+10)
	assert.Len(t, succeed(t, "status", "-a", address, "--prefix", "led-00", "--json"), 100)
	assert.Len(t, succeed(t, "status", "-a", address, "--prefix", "led-00", "--all"), 1+100)
	again := strings.Replace(address, "127.0.0.1", "localhost", 1)
	assert.Len(t, succeed(t, "status", "-a", address, "-a", again, "--json"), 312, "the node only once")
	assert.Len(t, succeed(t, "status", "-a", address, "--group", "led-0017"), 1+1)
	assert.Len(t, succeed(t, "status", "-a", address, "--prefix", "none"), 1)
	for _, other := range [][]string{{"--all"}, {"--prefix", "x"}} {
		assert.Contains(t, fail(t, exitUsage, append([]string{"status", "--group", "g"}, other...)...), "--group")
	}
	assert.Contains(t, fail(t, exitUsage, "watch", "-a", address), "--group is not given")
}

// A script must not take an empty file for a node without groups.
func TestAStatusThatCannotBePrintedIsAFailure(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 60} {
		address := crowded(t, count)
		for _, how := range [][]string{nil, {"--all"}, {"--json"}} {
			stderr := new(page)
			code := Main(append([]string{"status", "-a", address}, how...), brokenPipe{}, stderr)
			assert.Equal(t, exitFailed, code, how)
			assert.Equal(t, "hustings: broken pipe\n", stderr.String(), how)
		}
	}
}

// Groups that the node is not able to lead are counted by the reason, and so are those that do not take part yet.
func TestAllThatIsCountedIsShown(t *testing.T) {
	t.Parallel()
	c := crowd{"host:1", &operator.Summary{
		Node: "n0", Groups: 99, Starting: 8, Leaderless: 9, LowestTerm: 3, HighestTerm: 4,
		Roles: map[memberstate.Role]int{memberstate.Leader: 5, memberstate.Follower: 6}, Leaders: map[string]int{"n0": 5, "n1": 7},
		Unable: map[elector.Inability]int{protocol.NotAbleDisk: 10},
	}}
	var out strings.Builder
	require.NoError(t, c.print(&out, "o"))
	assert.Equal(t, `n0 at host:1 has 99 groups whose names begin with "o", in terms 3 to 4
  it is         follower 6, leader 5
  the leader is n0 5, n1 7
  no leader     9
  not able      `+protocol.NotAbleDisk.String()+` 10
  starting      8

`, out.String())
}

// A node that dies while it lists its groups is a node that did not answer.
func TestANodeThatDoesNotGoOnIsToldOf(t *testing.T) {
	t.Parallel()
	o := operation{timeout: 1e7}
	var told []shownStatus
	silent, err := o.stream(t.Context(), []crowd{{hanging(t), &operator.Summary{Node: "n0"}}}, nil, func(s *shownStatus) error {
		told = append(told, *s)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 1, silent)
	require.Len(t, told, 1)
	assert.Equal(t, "no answer in time", told[0].Error)
	address := crowded(t, 60)
	_, err = o.stream(t.Context(), []crowd{{address, &operator.Summary{Node: "n0"}}}, nil, func(*shownStatus) error { return assert.AnError })
	assert.ErrorIs(t, err, assert.AnError)
}

// faltering is a node that counts its groups, and then tells only of one.
type faltering struct {
	electorpb.UnimplementedOperatorServiceServer
	groups uint64
}

func (f faltering) Summary(context.Context, *electorpb.SummaryRequest) (*electorpb.SummaryResponse, error) {
	return &electorpb.SummaryResponse{Node: "n0", Groups: f.groups}, nil
}

func (faltering) Statuses(_ *electorpb.StatusesRequest, stream grpc.ServerStreamingServer[electorpb.StatusesResponse]) error {
	first := &electorpb.Status{Group: "orders", Node: "n0"}
	return errors.Join(stream.Send(&electorpb.StatusesResponse{Statuses: []*electorpb.Status{first}}), status.Error(codes.Internal, "the disk"))
}

// A script must not take a part of the groups for all of them.
func TestAListThatIsNotCompleteFails(t *testing.T) {
	t.Parallel()
	for _, groups := range []uint64{mostListed, mostListed + 1} {
		address := serving(t, faltering{groups: groups})
		for _, how := range []string{"--all", "--json"} {
			code, stdout, stderr := run("status", "-a", address, how)
			assert.Equal(t, exitFailed, code)
			assert.Equal(t, groups > mostListed, strings.Contains(stdout, "orders"), "what it has said is shown if it is one of many")
			assert.Contains(t, stdout, "the disk")
			assert.Equal(t, "hustings: 1 of 1 nodes did not answer\n", stderr)
		}
	}
	assert.Contains(t, succeed(t, "status", "-a", serving(t, faltering{groups: mostListed + 1}))[0], "has 51 groups")
}

// slowList is a node that takes its time for each of many groups.
type slowList struct {
	electorpb.UnimplementedOperatorServiceServer
	every  time.Duration
	groups int
}

func (s *slowList) Statuses(_ *electorpb.StatusesRequest, stream grpc.ServerStreamingServer[electorpb.StatusesResponse]) error {
	for i := range s.groups {
		<-time.After(s.every)
		one := &electorpb.Status{Group: fmt.Sprint("g", i), Node: "n0"}
		if err := stream.Send(&electorpb.StatusesResponse{Statuses: []*electorpb.Status{one}}); err != nil {
			return err
		}
	}
	return nil
}

// The time to wait is for each answer, because how long all of them take depends on their number.
func TestAListOfManyGroupsMayTakeLong(t *testing.T) {
	t.Parallel()
	s := &slowList{every: 50 * time.Millisecond, groups: 24} // a busy machine may be late by nearly a second
	o, listed := operation{timeout: time.Second}, 0
	silent, err := o.stream(t.Context(), []crowd{{serving(t, s), &operator.Summary{Node: "n0"}}}, nil, func(one *shownStatus) error {
		assert.Empty(t, one.Error)
		listed++
		return nil
	})
	require.NoError(t, err)
	assert.Zero(t, silent)
	assert.Equal(t, s.groups, listed)
}

// What a node says of a group is one line, and one row of a table.
func TestAStatusIsALineAndARow(t *testing.T) {
	t.Parallel()
	report := elector.Report{Status: elector.Status{
		Self: "n1", Group: "orders", Role: memberstate.Follower, Term: 7, Leader: "n0", LastLeader: "n2", Departure: protocol.DepartedSilent,
		Revision: 3, Inability: protocol.NotAbleDisk,
	}, Unable: 1234 * time.Millisecond, Preferred: true}
	s := shown("host:1", report)
	role := "preferred follower (not able: " + protocol.NotAbleDisk.String() + ", 1.2s)"
	last := "n2: " + protocol.DepartedSilent.String()
	var line strings.Builder
	require.NoError(t, s.print(&line, false))
	assert.Regexp(t, `^host:1 +orders +n1 +`+regexp.QuoteMeta(role)+` +term 7 +leader n0 \(last `+regexp.QuoteMeta(last)+`\)\n$`, line.String())
	assert.Equal(t, []string{"orders", "n1", "host:1", role, "7", "n0", "-", "0/0", "-", last}, s.row())

	s.Unable, s.Preferred, s.Leader, s.LastLeader = 0, false, "", ""
	assert.Equal(t, "follower (not able: "+protocol.NotAbleDisk.String()+")", s.role())
	line.Reset()
	require.NoError(t, s.print(&line, false))
	assert.Regexp(t, `term 7 +no leader\n$`, line.String())
	s.Revision = 0
	assert.Equal(t, []string{"orders", "n1", "host:1", "starting", "7", "-", "-", "0/0", "-", "-"}, s.row())
	able := shown("host:1", elector.Report{Status: elector.Status{Role: memberstate.Follower}, Unable: time.Second})
	assert.Equal(t, "follower", able.role())
	assert.Zero(t, able.Unable, "it is able")
}

// Scripts read all that a node says.
func TestAStatusHasAllItsFields(t *testing.T) {
	t.Parallel()
	s := shown("host:1", elector.Report{
		Status: elector.Status{
			Self: "n1", Group: "orders", Role: memberstate.Leader, Term: 7, Leader: "n1", Vote: "n2", LastLeader: "n3", Departure: protocol.DepartedSilent,
			Revision: 4, Inability: protocol.NotAbleDisk,
		},
		Lease: 1500 * time.Millisecond, Ledger: memberstate.Position{Term: 6, Index: 42}, QuorumAge: 20 * time.Millisecond,
		Unable: time.Second, Preferred: true, LastChoice: true,
	})
	var line strings.Builder
	require.NoError(t, s.print(&line, true))
	assert.JSONEq(t, fmt.Sprintf(`{"address":"host:1","node":"n1","group":"orders","role":"leader","term":7,"leader":"n1","vote":"n2","revision":4,
		"last_leader":"n3","departure":%q,"lease_left_nanos":1500000000,"ledger_term":6,"ledger_index":42,"quorum_age_nanos":20000000,
		"inability":%q,"unable_nanos":1000000000,"preferred":true,"last_choice":true}`, protocol.DepartedSilent, protocol.NotAbleDisk), line.String())
	assert.Equal(t, []string{"n1", "1.5s", "6/42", "20ms ago"}, s.row()[5:9])
}

// A node that was asked at two addresses is shown once, with its answer if there is one.
func TestANodeAtTwoAddressesIsShownOnce(t *testing.T) {
	t.Parallel()
	answer, late := shownStatus{Group: "g", Node: "n1", Term: 1}, shownStatus{Group: "g", Node: "n1", Term: 2}
	silent, other := shownStatus{Group: "g", Node: "n1", Error: "silent"}, shownStatus{Group: "h", Node: "n1"}
	unknown := shownStatus{Error: "refused"}
	assert.Equal(t, []shownStatus{unknown, unknown, answer, other}, oneEach([]shownStatus{silent, answer, other, late, silent, unknown, unknown}))
	assert.Equal(t, []shownStatus{silent}, oneEach([]shownStatus{silent, silent}))
	assert.True(t, answered([]shownStatus{unknown, answer}, "n1"))
	assert.False(t, answered([]shownStatus{unknown, answer}, "n2"))
}

// Watch prints a line for people, and ends when nobody reads it.
func TestWatchPrintsALineForEachChange(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	cmd, stopped := newWatch(), 0
	cmd.SetOut(&out)
	w := watcher{operation: new(operation), cmd: cmd, stop: func() { stopped++ }}
	w.print(shownStatus{Address: "host:1", Group: "orders", Node: "n1", Role: "leader", Term: 7, Leader: "n1"})
	w.print(shownStatus{Address: "host:1", Error: "it is gone"})
	assert.Regexp(t, `^\S+  host:1 +orders +n1 +leader +term 7 +leader n1\n\S+  host:1 +it is gone; retrying\n$`, out.String())
	assert.NoError(t, w.err)
	assert.Zero(t, stopped)
	for _, s := range []shownStatus{{Address: "host:1"}, {Error: "it is gone"}} {
		cmd.SetOut(brokenPipe{})
		w = watcher{operation: new(operation), cmd: cmd, stop: func() { stopped++ }}
		w.print(s)
		require.Error(t, w.err)
		w.print(s)
	}
	assert.Equal(t, 2, stopped, "once for each, and nothing is printed any more")
}
