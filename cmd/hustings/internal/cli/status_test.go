package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
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
	assert.Len(t, succeed(t, "status", "-a", address, "--group", "led-0017"), 1+1)
	assert.Len(t, succeed(t, "status", "-a", address, "--prefix", "none"), 1)
	for _, other := range [][]string{{"--all"}, {"--prefix", "x"}} {
		assert.Contains(t, fail(t, exitUsage, append([]string{"status", "--group", "g"}, other...)...), "--group")
	}
	assert.Contains(t, fail(t, exitUsage, "watch", "-a", address), "--group is not given")
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
