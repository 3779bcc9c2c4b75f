package node_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
)

// contend runs a node that contends for the lease "jobs" until leave is called.
func contend(t *testing.T, name, url string, change ...func(*node.Config)) (printed *paper, pages string, leave func()) {
	t.Helper()
	free, err := node.FreeAddresses(1)
	require.NoError(t, err)
	printed = new(paper)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		config := node.Config{Node: name, Lease: url, Name: "jobs", TTL: 4 * time.Second, HTTP: free[0]} // a busy machine must not lose it
		for _, f := range change {
			f(&config)
		}
		ended <- node.Run(ctx, config, node.NewPrinter(printed, false), slog.New(slog.DiscardHandler))
	}()
	leave = func() {
		if ctx.Err() == nil {
			cancel()
			assert.NoError(t, <-ended)
		}
	}
	t.Cleanup(leave)
	return printed, "http://" + free[0], leave
}

func becomes(t *testing.T, pages string, status int) {
	t.Helper()
	require.Eventually(t, func() bool { code, _ := get(pages + "/leader"); return code == status }, patience, time.Millisecond)
}

// A leader that leaves releases the lease, and the other node leads. Both say so in their
// output and on their pages, as nodes that vote do.
func TestALeaderThatLeavesGivesItsLeaseToTheOther(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "leases.db")
	first, pages, leave := contend(t, "a", url)
	becomes(t, pages, http.StatusOK)
	second, others, _ := contend(t, "b", url)
	require.Eventually(t, func() bool { return strings.Contains(second.String(), "follows a#") }, patience, time.Millisecond)
	becomes(t, others, http.StatusServiceUnavailable)
	_, body := get(pages + "/leader")
	assert.Regexp(t, `^group=jobs term=1 leader=a#`, body)
	require.Eventually(t, func() bool {
		_, body := get(pages + "/metrics")
		return strings.Contains(body, `hustings_group_role{group="jobs",role="leader"} 1`) && !strings.Contains(body, `hustings_quorum_seconds_count 0`)
	}, patience, time.Millisecond)
	leave()
	becomes(t, others, http.StatusOK)
	assert.Contains(t, first.String(), "takes part in group jobs from term 0 on")
	assert.Contains(t, first.String(), "stopped")
	assert.Contains(t, second.String(), "takes part in group jobs from term 1 on")
	assert.NotContains(t, second.String(), "in term 0", "nothing is printed before it has read the lease")
	require.Eventually(t, func() bool { return strings.Contains(second.String(), "leads term 2") }, patience, time.Millisecond)
}

// supervised has the next node that is run be a service, whose manager wants to hear twice in
// 100 ms that it runs. The returned function waits until the manager is told something that
// begins like this.
func supervised(t *testing.T) (hears func(beginning string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "100000")
	return func(beginning string) {
		t.Helper()
		for buffer := make([]byte, 4096); ; {
			n, err := conn.Read(buffer)
			require.NoError(t, err, beginning)
			if strings.HasPrefix(string(buffer[:n]), beginning) {
				return
			}
		}
	}
}

// It tells the service manager so, too. When it stops it asks for the time of its lease, which
// its program may need, and for ten seconds more.
func TestANodeWithALeaseIsAService(t *testing.T) {
	hears := supervised(t)
	_, _, leave := contend(t, "a", "sqlite:"+filepath.Join(t.TempDir(), "leases.db"))
	hears("READY=1\nSTATUS=ready: a#")
	hears("WATCHDOG=1")
	leave()
	hears("STOPPING=1\nEXTEND_TIMEOUT_USEC=14000000")
	hears("STATUS=stopping")
}

// A node waits for a database that is not there yet. While it waits it is alive and can be
// stopped.
func TestANodeWaitsForItsDatabase(t *testing.T) {
	_, pages, leave := contend(t, "a", "postgres://nobody:secret@127.0.0.1:1/none")
	require.Eventually(t, func() bool { code, _ := get(pages + "/healthz"); return code == http.StatusOK }, patience, time.Millisecond)
	becomes(t, pages, http.StatusServiceUnavailable)
	leave()
}

// A Redis that may evict held leases is refused at once, and the error names the setting.
func TestARedisThatEvictsIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, listener.Close()) }()
	go evicting(listener)
	config := node.Config{Node: "a", Lease: "redis://:s3cret@" + listener.Addr().String(), Name: "jobs"}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = node.Run(ctx, config, node.NewPrinter(new(paper), false), slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, `"allkeys-lru"`)
	require.ErrorContains(t, err, "set it to noeviction")
	assert.NotContains(t, err.Error(), "s3cret")
}

// evicting answers INFO, and nothing else, like a Redis that evicts keys.
func evicting(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			const info = "maxmemory_policy:allkeys-lru\r\n"
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				if !strings.HasPrefix(lines.Text(), "*") {
					continue
				}
				lines.Scan() // how long the command is
				lines.Scan()
				answer := "-ERR unknown command"
				switch strings.ToLower(lines.Text()) {
				case "info":
					answer = fmt.Sprintf("$%d\r\n%s", len(info), info)
				case "auth":
					answer = "+OK"
				}
				if _, err := fmt.Fprint(conn, answer, "\r\n"); err != nil {
					return
				}
			}
		}()
	}
}
