//go:build linux

// A real node is started as a service of systemd: the test listens where systemd would.

package processes_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// manager listens where systemd would, and keeps what it was told.
type manager struct {
	t    *testing.T
	says chan string
	told []string
}

// listenAsManager returns a manager, and what it puts into the environment of a service.
func listenAsManager(t *testing.T) (m *manager, environment []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	m = &manager{t: t, says: make(chan string, 1<<16)}
	go m.listen(conn)
	return m, []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=100000"}
}

// listen reads what it is told until the connection is closed.
func (m *manager) listen(conn *net.UnixConn) {
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		m.says <- string(buffer[:n])
	}
}

// hears waits until it is told something, for the first time or again.
func (m *manager) hears(pattern string) {
	m.t.Helper()
	what, over := regexp.MustCompile(pattern), time.After(patience)
	for {
		select {
		case said := <-m.says:
			m.told = append(m.told, said)
			if what.MatchString(said) {
				return
			}
		case <-over:
			require.Fail(m.t, "it is not said", "%s, but %q", pattern, m.told)
		}
	}
}

func TestANodeIsAServiceOfSystemd(t *testing.T) {
	t.Parallel()
	m, environment := listenAsManager(t)
	dir := t.TempDir()
	program, vouches := filepath.Join(dir, "program"), filepath.Join(dir, "vouches")
	c := newCluster(t, clusterOptions{size: 3, environment: map[string][]string{"n0": environment}, flags: []string{
		"--exec", "env > " + program + ".new.$HUSTINGS_NODE; mv " + program + ".new.$HUSTINGS_NODE " + program + ".$HUSTINGS_NODE; exec sleep 1000",
		"--alive", "env > " + vouches + ".new.$HUSTINGS_NODE; mv " + vouches + ".new.$HUSTINGS_NODE " + vouches + ".$HUSTINGS_NODE",
	}})
	m.hears(`^READY=1\nSTATUS=ready: n\d leads term \d+$`)
	m.hears(`^WATCHDOG=1$`)
	for led := c.leaderAfter(0); led.Node != "n0"; led = c.newest() {
		c.order("transfer", led.Node, "--to", "n0")
	}
	for _, path := range []string{program + ".n0", vouches + ".n0"} {
		var said []byte
		require.Eventually(t, func() bool {
			said, _ = os.ReadFile(path)
			return strings.Contains(string(said), "HUSTINGS_GROUP=")
		}, patience, time.Millisecond, path)
		assert.NotRegexp(t, "NOTIFY_SOCKET|WATCHDOG_USEC", string(said), "what it starts does not speak in its place")
	}
	c.signal("n0", syscall.SIGTERM)
	m.hears(`^STOPPING=1\nEXTEND_TIMEOUT_USEC=\d+$`)
	<-c.nodes["n0"].ended
	m.hears(`^STATUS=stopping: drained, 1 of 1 groups were handed over$`)
	ready := 0
	for _, said := range m.told {
		ready += strings.Count(said, "READY=1")
	}
	assert.Equal(t, 1, ready, "%q", m.told)
}
