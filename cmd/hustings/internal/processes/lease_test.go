//go:build linux

// Real processes that contend for a lease in a real database. SQLite is always tested; the
// others if the environment names them, which lease/internal/storetest/run arranges.

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
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
)

// url returns the URL of a database that the environment names. Without one the test is
// skipped, or fails if no test may be left out.
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

// However a leader goes, its program ends, and has ended before its node prints "unlead". A
// watchdog that waits for a processor cannot end the program in time, so the time by which a
// program outlives its lease is logged and not asserted: the watchdogs' own tests assert when
// they wake and what they do first.
func TestAProgramUnderALeaseEndsHoweverItsLeaderGoes(t *testing.T) {
	t.Parallel()
	for name, where := range leaseDatabases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := jobs{database: where(t), group: "jobs " + rand.Text(), pids: filepath.Join(t.TempDir(), "pids")}
			j.cluster = newCluster(t, clusterOptions{size: 2, lease: j.database, flags: []string{
				"--name", j.group, "--ttl", "2s", "--exec", `echo "$HUSTINGS_TERM $HUSTINGS_NODE $HUSTINGS_GROUP $$" >> ` + j.pids + `; exec sleep 1000`,
			}})
			led := j.leaderAfter(0)
			ends := []func(leader, other string){
				func(leader, _ string) { j.kill(leader) },
				func(leader, _ string) { j.leave(leader) },
				func(leader, _ string) { j.stopUnlocked(leader) },
				func(_, other string) { j.leaseCommand("force", j.database, j.group, "--heir", other) },
			}
			for _, end := range ends[:effort.Of(len(ends), 2)] {
				led = j.end(led, end)
			}
		})
	}
}

// jobs are nodes that contend for a lease, to run a program that notes its process.
type jobs struct {
	*cluster
	database, group, pids string
}

// maxTries bounds the repetitions of a step that a busy machine may spoil.
const maxTries = 10

// end ends an office in some way, and returns the next leader.
func (j *jobs) end(led node.Event, how func(leader, other string)) (next node.Event) {
	j.t.Helper()
	other := map[string]string{"n0": "n1", "n1": "n0"}
	for range maxTries {
		var p program
		led, p = j.inOffice(led)
		at := now()
		how(led.Node, other[led.Node])
		next = j.leaderAfter(led.Term)
		outlived := !gone(p.pid)
		if outlived {
			assert.False(j.t, j.said("unlead", led.Node, led.Term), "%s serves no more, and its program lives", led.Node)
		}
		require.Eventually(j.t, func() bool { return gone(p.pid) }, patience, time.Millisecond, "the program of term %d lives", led.Term)
		if outlived {
			j.t.Logf("the program of term %d has outlived the lease by up to %v", led.Term, time.Duration(now()-next.AtNanos))
		}
		if j.nodes[led.Node] == nil {
			j.start(led.Node)
		} else {
			j.signal(led.Node, syscall.SIGCONT)
		}
		if next.AtNanos > at && next.Node == other[led.Node] {
			return next
		} // on a busy machine a leader may go before it is struck, or its heir may come too late
		led = next
	}
	require.FailNow(j.t, "no office ends as it was to", "the last one was that of %s in term %d", led.Node, led.Term)
	return led
}

// inOffice waits until all nodes know a leader whose program runs, this one or a later one.
func (j *jobs) inOffice(led node.Event) (node.Event, program) {
	j.t.Helper()
	for range maxTries {
		j.followed(led.Term)
		held := j.leaseCommand("status", j.database, j.group)
		if held.Term == uint64(led.Term) && held.State == "held" {
			p := started(j.t, j.pids, j.group, led.Term)
			if p.term == led.Term {
				assert.True(j.t, strings.HasPrefix(held.Holder, led.Node+"#"), held.Holder)
				return led, p
			}
		}
		led = j.leaderAfter(led.Term)
	}
	require.FailNow(j.t, "no leader stays until everybody knows it", "the last one was %s in term %d", led.Node, led.Term)
	return led, program{}
}

// said reports whether a node has printed an event about a term.
func (c *cluster) said(what, who string, term memberstate.Term) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.Event == what && e.Node == who && e.Term == term {
			return true
		}
	}
	return false
}

// stopUnlocked stops a node while it holds no lock on a file, because a process that is stopped
// with a lock of SQLite, even one for reading, keeps all others from writing.
func (c *cluster) stopUnlocked(id string) {
	c.t.Helper()
	pid := c.nodes[id].cmd.Process.Pid
	require.Eventually(c.t, func() bool {
		c.signal(id, syscall.SIGSTOP)
		if stopped(pid) && !locks(c.t, pid) {
			return true
		}
		c.signal(id, syscall.SIGCONT)
		return false
	}, patience, 10*time.Millisecond, "%s without a lock", id)
}

// stopped reports whether all threads of a process have stopped, and waits a moment for that.
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

// locks reports whether a process holds a lock, or waits for one.
func locks(t *testing.T, pid int) bool {
	t.Helper()
	all, err := os.ReadFile("/proc/locks") // "1: POSIX  ADVISORY  WRITE 4711 ...", with "->" if it waits
	require.NoError(t, err)
	for line := range strings.Lines(string(all)) {
		if slices.Contains(strings.Fields(line), strconv.Itoa(pid)) { // another column may have the same number by chance; then the caller tries again
			return true
		}
	}
	return false
}

// leave stops a node as an operator does.
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

// shownLease is a lease as "hustings lease" prints it.
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

// A leader that leaves gives its program the rest of the lease: a program that does not end
// when asked is killed when the lease ends, and not before.
func TestAProgramMayUseTheRestOfTheLease(t *testing.T) {
	t.Parallel()
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
