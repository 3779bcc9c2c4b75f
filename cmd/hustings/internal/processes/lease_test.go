//go:build linux

// Real processes that contend for a lease in a real database. SQLite is always
// there; the others are where the environment says, which
// lease/internal/storetest/run arranges.

package processes_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
)

// url is where a database is that the environment names; the test is skipped if it
// names none, and fails where nothing is to be left out.
func url(t *testing.T, variable string, of func(given string) string) string {
	t.Helper()
	given := os.Getenv(variable)
	if given == "" {
		if os.Getenv("HUSTINGS_TEST_ALL") != "" {
			t.Fatalf("%s is not set: nothing may be left out", variable)
		}
		t.Skipf("%s is not set: see lease/internal/storetest/run", variable)
	}
	return of(given)
}

var leaseDatabases = map[string]func(t *testing.T) string{
	"SQLite": func(t *testing.T) string {
		t.Helper()
		return "sqlite:" + filepath.Join(t.TempDir(), "leases #1 100%.db")
	},
	"PostgreSQL": func(t *testing.T) string {
		t.Helper()
		return url(t, "HUSTINGS_TEST_POSTGRES", func(s string) string { return s })
	},
	"MariaDB": func(t *testing.T) string {
		t.Helper()
		return url(t, "HUSTINGS_TEST_MYSQL", func(s string) string { return "mysql://" + strings.NewReplacer("tcp(", "", ")", "").Replace(s) })
	},
	"Redis": func(t *testing.T) string {
		t.Helper()
		return url(t, "HUSTINGS_TEST_REDIS", func(s string) string { return "redis://" + s })
	},
	"etcd": func(t *testing.T) string {
		t.Helper()
		return url(t, "HUSTINGS_TEST_ETCD", func(s string) string { return "etcd://" + s })
	},
}

// However a leader goes, its program has ended when the next one leads.
func TestLease(t *testing.T) {
	for name, where := range leaseDatabases {
		t.Run(name, func(t *testing.T) {
			database, group, pids := where(t), "jobs "+rand.Text(), filepath.Join(t.TempDir(), "pids")
			c := newCluster(t, clusterOptions{size: 2, lease: database, flags: []string{
				"--name", group, "--ttl", "2s", "--exec", `echo "$HUSTINGS_TERM $HUSTINGS_NODE $HUSTINGS_GROUP $$" >> ` + pids + `; exec sleep 1000`,
			}})
			other := map[string]string{"n0": "n1", "n1": "n0"}
			led := c.leaderAfter(0)
			for _, end := range []func(){
				func() { c.kill(led.Node) },
				func() { c.stopUnlocked(led.Node) },
				func() { c.leave(led.Node) },
				func() { c.leaseCommand("force", database, group, "--heir", other[led.Node]) },
			} {
				c.followed(led.Term)
				held := c.leaseCommand("status", database, group)
				for held.Term > uint64(led.Term) { // on a machine that is too busy a leader may go before
					led = c.leaderAfter(led.Term)
					held = c.leaseCommand("status", database, group)
				}
				program := started(t, pids, group, led.Term)
				assert.Equal(t, "held", held.State)
				assert.EqualValues(t, led.Term, held.Term)
				assert.True(t, strings.HasPrefix(held.Holder, led.Node+"#"), held.Holder)
				end()
				next := c.leaderAfter(led.Term)
				assert.Equal(t, other[led.Node], next.Node)
				assert.True(t, gone(program.pid), "the program of term %d lives", led.Term)
				if c.nodes[led.Node] == nil {
					c.start(led.Node)
				} else {
					c.signal(led.Node, syscall.SIGCONT)
				}
				led = next
			}
		})
	}
}

// stopUnlocked stops a node while it holds no lock on a file. SQLite's lock for writing is
// one: a process that is stopped with it keeps everybody from writing.
func (c *cluster) stopUnlocked(id string) {
	c.t.Helper()
	pid := c.nodes[id].cmd.Process.Pid
	require.Eventually(c.t, func() bool {
		c.signal(id, syscall.SIGSTOP)
		if stopped(pid) && !writes(c.t, pid) {
			return true
		}
		c.signal(id, syscall.SIGCONT)
		return false
	}, patience, 10*time.Millisecond, "%s without a lock", id)
}

// stopped says whether all threads of a process have stopped, and waits a moment for that.
func stopped(pid int) bool {
	for range 1000 {
		stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		runs := func(path string) bool {
			stat, err := os.ReadFile(path)
			return err == nil && !strings.Contains(string(stat), ") T ")
		}
		if len(stats) > 0 && !slices.ContainsFunc(stats, runs) {
			return true
		}
		runtime.Gosched()
	}
	return false
}

// writes says whether a process holds a lock for writing.
func writes(t *testing.T, pid int) bool {
	t.Helper()
	locks, err := os.ReadFile("/proc/locks") // "1: POSIX  ADVISORY  WRITE 4711 ...", with "->" if it waits
	require.NoError(t, err)
	for line := range strings.Lines(string(locks)) {
		if f := strings.Fields(line); len(f) > 4 && f[3] == "WRITE" && f[4] == strconv.Itoa(pid) {
			return true
		}
	}
	return false
}

// leave ends a node as an operator does.
func (c *cluster) leave(id string) {
	c.t.Helper()
	c.signal(id, syscall.SIGTERM)
	select {
	case <-c.nodes[id].ended:
	case <-time.After(patience):
		require.FailNow(c.t, "does not end", id)
	}
	assert.NoError(c.t, c.nodes[id].err)
	delete(c.nodes, id)
}

// shownLease is a lease as "hustings lease" shows it.
type shownLease struct {
	Term          uint64
	State, Holder string
}

func (c *cluster) leaseCommand(command, database, name string, flags ...string) (shown shownLease) {
	c.t.Helper()
	out, err := c.run(append([]string{"lease", command, "--json", "--name", name, database}, flags...)...)
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal([]byte(out), &shown))
	return shown
}

// A program that does not end when it is asked to is killed with the lease, and not
// before: a leader that leaves gives it what is left of that.
func TestAProgramHasWhatIsLeftOfTheLease(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	c := newCluster(t, clusterOptions{size: 2, lease: leaseDatabases["SQLite"](t), flags: []string{
		"--name", "jobs", "--ttl", "2s", "--exec", `trap "echo asked >> ` + said + `" TERM; echo $$ >> ` + said + `; while :; do sleep 0.01; done`,
	}})
	led := c.leaderAfter(0)
	c.followed(led.Term)
	require.Eventually(t, func() bool { text, _ := os.ReadFile(said); return len(text) > 0 }, patience, time.Millisecond)
	c.leave(led.Node)
	text, err := os.ReadFile(said)
	require.NoError(t, err)
	assert.Contains(t, string(text), "asked")
	c.leaderAfter(led.Term)
	lost := c.await("it serves no more", func(e node.Event) bool { return e.Event == "unlead" && e.Term == led.Term })
	assert.Equal(t, led.Node, lost.Node)
}
