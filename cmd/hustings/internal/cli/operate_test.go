package cli

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/internal/effort"
)

const enough = 20 * time.Second // longer than anything takes that does not fail

// local runs three nodes until the test ends. It returns their addresses once they have a
// leader.
func local(t *testing.T, config node.Config) (addresses []string) {
	t.Helper()
	config.Group = "orders"
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	found := make(chan string, 3)
	quiet := slog.New(slog.DiscardHandler)
	go func() {
		ended <- node.Local(ctx, 3, config, node.NewPrinter(new(page), false), quiet, func(m node.Member) { found <- m.Address })
	}()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	for range 3 {
		addresses = append(addresses, <-found)
	}
	require.Eventually(t, func() bool {
		_, stdout, _ := run("status", "--json", "-a", addresses[0])
		return strings.Count(stdout, `"leader":`) == 3
	}, enough, 10*time.Millisecond)
	return addresses
}

// page collects a command's output while it runs.
type page struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// hanging returns the address of a node that accepts connections and never answers.
func hanging(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l.Addr().String()
}

// unanswering returns the address of a node that answers nothing, and a channel that says that it was asked.
func unanswering(t *testing.T) (address string, asked <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	questions := make(chan struct{}, 1)
	server, ended := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		select {
		case questions <- struct{}{}:
		default: // once is enough
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	})), make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		assert.NoError(t, <-ended)
	})
	return l.Addr().String(), questions
}

// Ctrl-C must not have to wait for a node.
func TestEveryQuestionToANodeCanBeInterrupted(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"status", "status --group orders", "watch", "transfer --to n1 --group orders", "resign --group orders", "drain", "undrain", "protect on", "balance on",
		"nodes", "table", "settings --group orders", "balance plan",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			address, asked := unanswering(t)
			root, ended := newRoot(), make(chan error, 1)
			root.SetArgs(append(strings.Fields(command), "-a", address, "--timeout", "1h"))
			root.SetOut(io.Discard)
			root.SetErr(io.Discard)
			ctx, interrupt := context.WithCancel(t.Context())
			go func() { ended <- root.ExecuteContext(ctx) }()
			select {
			case <-asked:
			case err := <-ended:
				require.NoError(t, err, "it ended before it asked")
			}
			interrupt()
			select {
			case err := <-ended:
				assert.Error(t, err)
			case <-time.After(enough):
				assert.Fail(t, "it still waits for the node")
			}
		})
	}
}

func TestOneAddressShowsTheWholeGroup(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{Leases: true})
	lines := succeed(t, "status", "-a", addresses[1])
	require.Len(t, lines, 4)
	assert.Regexp(t, `^GROUP +NODE +ADDRESS +ROLE +TERM +LEADER +LEASE +LEDGER END +QUORUM +LAST LEADER$`, lines[0])
	leaders := 0
	for i, line := range lines[1:] {
		assert.Regexp(t, `^orders +n`+string(rune('0'+i))+` +127\.0\.0\.1:\d+ +(leader|follower) +\d+ +n\d`, line)
		if strings.Contains(line, " leader ") {
			leaders++
			assert.Regexp(t, `(ms|-) +0/0 +\d+m?s ago`, line)
		}
	}
	assert.Equal(t, 1, leaders)
	code, stdout, stderr := run("status", "-a", addresses[0], "-a", hanging(t), "--timeout", "1s")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "1 of 2 nodes did not answer")
	assert.Contains(t, stdout, "no answer in time")
	lines = strings.Split(stdout, "\n")
	require.Len(t, lines, 6, "each node is shown once, and the one that hangs")
	for _, line := range lines[1:5] {
		require.Greater(t, len(line), len(lines[0])-len("LAST LEADER"), "all columns are there: %s", line)
		assert.Regexp(t, `^  \S`, line[strings.Index(lines[0], "LEASE")-2:], "each column is in line")
	}
}

func TestATransferPrintsTheLeaderAndWhetherItLasts(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{Preferred: []string{"n0"}})
	require.Eventually(t, func() bool {
		_, stdout, _ := run("status", "--json", "-a", addresses[0])
		return strings.Count(stdout, `"leader":"n0"`) == 3
	}, enough, 10*time.Millisecond)
	assert.Contains(t, succeed(t, "transfer", "-a", hanging(t), "-a", addresses[1], "--to", "n0")[0], "leader n0", "it leads already")
	assert.Contains(t, fail(t, exitFailed, "transfer", "-a", addresses[0], "--to", "n7"), `"n7" is not another voter of group "orders"`)
	code, _, stderr := run("transfer", "-a", addresses[0], "--to", "n1")
	assert.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stderr, "this will be undone: n0 should lead whenever possible (--preferred), and will be offered the leadership after 300ms")
}

func TestALeaderThatHangsIsNotWaitedForAnyLonger(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	for _, cmd := range []*cobra.Command{newTransfer(), newResign()} {
		cmd.SetArgs([]string{"-a", hanging(t), "--timeout", "10ms"})
		cmd.SetErr(new(page))
		require.ErrorContains(t, cmd.ExecuteContext(ctx), "no answer in time")
		assert.NoError(t, ctx.Err())
	}
}

// Scripts rely on them.
func TestTheseAreTheUsualValues(t *testing.T) {
	for _, c := range []struct {
		cmd        *cobra.Command
		flag, want string
	}{
		{newDrain(), "wait", "1m0s"},
		{newDrain(), "timeout", "5s"},
		{newDrain(), "in-flight", "128"},
		{newUndrain(), "timeout", "5s"},
		{newProtect(), "timeout", "5s"},
		{newBalance(), "every", "10s"},
		{newBalance(), "timeout", "5s"},
		{newStatus(), "timeout", "3s"},
		{newWatch(), "timeout", "3s"},
		{newSettings(), "timeout", "10s"},
		{newLeaseStatus(), "timeout", "10s"},
		{newLeaseForce(), "timeout", "10s"},
		{newLeaseRelease(), "timeout", "10s"},
		{newNodes(), "timeout", "3s"},
		{newTable(), "timeout", "3s"},
		{newTransfer(), "timeout", "30s"},
		{newResign(), "timeout", "30s"},
	} {
		assert.Equal(t, c.want, c.cmd.Flags().Lookup(c.flag).DefValue, "%s --%s", c.cmd.Name(), c.flag)
		if address := c.cmd.Flags().Lookup("address"); address != nil {
			assert.Equal(t, "[127.0.0.1:7000]", address.DefValue, c.cmd.Name())
		}
	}
}

// lone runs the only node of a group, at an address, until it is told to stop.
func lone(t *testing.T, address, data string, isNew bool) (stop func()) {
	t.Helper()
	c := node.Config{Node: "n0", Group: "orders", Data: data, New: isNew, Members: []node.Member{{ID: "n0", Address: address}}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx, c, node.NewPrinter(new(page), false), slog.New(slog.DiscardHandler)) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}

// A node that dies is reported once, and watched again when it is back.
func TestWatchOutlivesNodes(t *testing.T) {
	t.Parallel()
	free, err := node.FreeAddresses(2)
	require.NoError(t, err)
	data := t.TempDir()
	stop := lone(t, free[0], data, true)
	require.Eventually(t, func() bool { code, _, _ := run("status", "-a", free[0]); return code == exitOK }, enough, 10*time.Millisecond)

	var out page
	ctx, cancel := context.WithCancel(t.Context())
	cmd := newWatch()
	cmd.SetArgs([]string{"-a", free[0], "-a", free[1], "--json"})
	cmd.SetOut(&out)
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	seen := func(what string, times int) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Count(out.String(), what) >= times }, enough, time.Millisecond, "%s", &out)
	}
	seen(`"role":"leader"`, 1)
	seen(free[1], 1)
	stop()
	seen(`"error":`, 2)
	lone(t, free[0], data, false)
	seen(`"role":"leader"`, 2)
	cancel()
	require.NoError(t, <-ended)
	assert.Equal(t, 1, strings.Count(out.String(), `"address":"`+free[1]), "that the node is gone is reported once")
	for line := range strings.Lines(out.String()) {
		var change shownChange
		require.NoError(t, json.Unmarshal([]byte(line), &change))
		_, err := time.Parse(time.RFC3339, change.Time)
		assert.NoError(t, err)
	}
}

// A node that hangs is passed over when its share of the time is up.
func TestSettingsPassOverANodeThatHangs(t *testing.T) {
	effort.Long(t)
	t.Parallel()
	addresses := local(t, node.Config{})
	assert.Len(t, succeed(t, "settings", "-a", hanging(t), "-a", addresses[1], "--all", "--timeout", "20s", "--leak", "4"), 3)
}

// Without a change the settings are shown; with --all those of every member are changed.
func TestSettingsAreShownAndChanged(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{})
	lines := succeed(t, "settings", "-a", addresses[2])
	assert.Equal(t, []string{"n2: heartbeat 100ms, leak 3, vote wait 30ms to 100ms, round timeout 100ms, drift margin 15ms"}, lines)
	gone, err := node.FreeAddresses(1)
	require.NoError(t, err)
	lines = succeed(t, "settings", "-a", gone[0], "-a", addresses[1], "--all", "--leak", "4", "--preferred", "n1", "--electable=false", "--json")
	require.Len(t, lines, 3)
	for i, line := range lines {
		var now jsonSettings
		require.NoError(t, json.Unmarshal([]byte(line), &now))
		want := jsonSettings{
			Address: addresses[i], Node: "n" + strconv.Itoa(i), Heartbeat: 1e8, Leak: 4, MinVoteWait: 3e7, MaxVoteWait: 1e8, RoundTimeout: 1e8, DriftMargin: 15e6,
			Preferred: []string{"n1"},
		}
		assert.Equal(t, want, now)
	}
	assert.Contains(t, fail(t, exitFailed, "settings", "-a", addresses[0], "--heartbeat", "1ns"), "Timing.Heartbeat is 1ns")
	lines = succeed(t, "settings", "-a", addresses[0], "--preferred", "", "--electable")
	assert.NotContains(t, lines[0], "preferred")
	assert.NotContains(t, lines[0], "only if")
}
