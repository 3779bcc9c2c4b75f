package node_test

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == node.WatchdogCommand {
		if os.Getenv("HUSTINGS_TEST_BROKEN_WATCHDOG") != "" {
			os.Exit(1)
		}
		if err := node.Watchdog(os.Args[2], os.Stdin); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n") // the node notices the end of its watchdog
			os.Exit(1)
		}
		os.Exit(0)
	}
	http.DefaultTransport.(*http.Transport).DisableKeepAlives = true // they would look like leaks
	_ = flag.Set("test.parallel", "8")                               // they wait more than they work; what the command line says counts
	goleak.VerifyTestMain(m)
}

const patience = 20 * time.Second

// paper keeps the printed output.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// run runs one node of a group of some size until the test ends, and returns its output and
// the addresses of its pages and of the node.
func run(t *testing.T, size int, asJSON bool) (printed *paper, pages, address string) {
	t.Helper()
	free, err := node.FreeAddresses(size + 1)
	require.NoError(t, err)
	c := node.Config{Node: "n0", Group: "orders", Data: t.TempDir(), New: true, HTTP: free[size]}
	for i := range size {
		c.Members = append(c.Members, node.Member{ID: "n" + string(rune('0'+i)), Address: free[i]})
	}
	printed = new(paper)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx, c, node.NewPrinter(printed, asJSON), slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
		assert.Contains(t, printed.String(), "stop")
	})
	require.Eventually(t, func() bool { return printed.String() != "" }, patience, time.Millisecond)
	code, _ := get("http://" + free[size] + "/healthz")
	assert.Equal(t, http.StatusOK, code)
	return printed, "http://" + free[size], free[0]
}

func get(url string) (code int, body string) {
	answer, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func TestALeadersPagesSayThatItLeads(t *testing.T) {
	printed, pages, address := run(t, 1, false)
	require.Eventually(t, func() bool { code, _ := get(pages + "/leader"); return code == http.StatusOK }, patience, time.Millisecond)
	_, body := get(pages + "/leader")
	assert.Equal(t, "group=orders term=1 leader=n0\n", body)
	code, body := get(pages + "/readyz")
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "ready: n0 leads term 1\n", body)
	_, body = get(pages + "/metrics")
	assert.Contains(t, body, `hustings_group_role{group="orders",role="leader"} 1`)
	assert.Regexp(t, `(?m)^hustings_fsync_seconds_count [1-9]`, body, "those of its store")
	assert.Contains(t, body, `hustings_transport_refused_total{reason="crowd"} 0`)
	require.Eventually(t, func() bool { return strings.Contains(printed.String(), "n0  leads term 1\n") }, patience, time.Millisecond)

	conn, err := grpcrpc.Dial(address, nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	require.Eventually(t, func() bool {
		health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
		require.NoError(t, err)
		return health.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING
	}, patience, time.Millisecond)
	code, body = get(pages + "/drained")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Equal(t, "not drained\n", body)
}

func TestAFollowersPagesSayThatItDoesNotLead(t *testing.T) {
	printed, pages, _ := run(t, 3, true)
	code, body := get(pages + "/leader")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Equal(t, "group=orders term=0 leader=\n", body)
	require.Eventually(t, func() bool {
		code, body = get(pages + "/readyz")
		return body == "not ready: no leader is known in term 0\n"
	}, patience, time.Millisecond)
	assert.Equal(t, http.StatusServiceUnavailable, code)
	var start node.Event
	require.NoError(t, json.NewDecoder(strings.NewReader(printed.String())).Decode(&start))
	assert.Equal(t, "start", start.Event)
	assert.Equal(t, "n0", start.Node)
	assert.Positive(t, start.AtNanos)
}

// Three nodes in one process elect a leader, and remove their files.
func TestLocalNodesElectAndCleanUp(t *testing.T) {
	t.Parallel()
	printed, logged := new(paper), new(paper)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var found []node.Member
	log := slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
	go func() {
		ended <- node.Local(ctx, 3, node.Config{Group: "demo"}, node.NewPrinter(printed, false), log, func(m node.Member) { found = append(found, m) })
	}()
	require.Eventually(t, func() bool { return strings.Contains(printed.String(), "leads term") }, patience, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	assert.Len(t, found, 3)
	assert.Equal(t, 3, strings.Count(printed.String(), "stopped"))
	assert.NotContains(t, logged.String(), "not transferred", "because no node is left to take over")
}

// If one of the nodes cannot run, all end, because the others might need it for a quorum. They leave no files behind.
func TestLocalEndsWithAnyOfItsNodes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // on Windows
	var taken net.Listener
	ended := make(chan error, 1)
	go func() {
		ended <- node.Local(t.Context(), 3, node.Config{Group: "demo"}, node.NewPrinter(io.Discard, false), slog.New(slog.DiscardHandler), func(m node.Member) {
			if m.ID == "n1" {
				var err error
				taken, err = net.Listen("tcp", m.Address)
				assert.NoError(t, err)
			}
		})
	}()
	select {
	case err := <-ended:
		assert.ErrorIs(t, err, syscall.EADDRINUSE)
	case <-time.After(patience):
		require.FailNow(t, "the other nodes go on")
	}
	require.NoError(t, taken.Close())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
