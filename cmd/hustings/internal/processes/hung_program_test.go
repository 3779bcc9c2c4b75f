//go:build linux

// Programs that hang: a program that is stopped, and one for which the command of --alive does not answer.

package processes_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/internal/effort"
)

// alone is a program that works without children.
const alone = `HUSTINGS_TEST_AS_WORKER=alone exec "$HUSTINGS_TEST_SELF"`

// awaitWorker waits until the worker of a term works, or of a later one, and returns its leader and its process.
func (c *cluster) awaitWorker(d *diary, name string, led node.Event) (node.Event, int) {
	c.t.Helper()
	worker := 0
	require.Eventually(c.t, func() bool {
		c.mu.Lock()
		for _, e := range c.events {
			if e.Event == "lead" && e.Term > led.Term {
				led = e
			}
		}
		c.mu.Unlock()
		worker = d.staff(c.t, led.Term)[name]
		return worker != 0
	}, patience, 10*time.Millisecond, "the program of term %d", led.Term)
	return led, worker
}

// goesOn waits until a worker has written that many lines more.
func (d *diary) goesOn(t *testing.T, worker, more int) {
	t.Helper()
	seen := len(d.read(t))
	require.Eventually(t, func() bool {
		lines := 0
		for _, e := range d.read(t)[seen:] {
			if e.pid == worker {
				lines++
			}
		}
		return lines >= more
	}, patience, time.Millisecond, "worker %d goes on", worker)
}

func TestALeaderWhoseProgramHangsIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ill := filepath.Join(dir, "ill-")
	for name, o := range map[string]clusterOptions{
		"silent, votes": {size: 3, flags: []string{"--notify", "--vouch", "1s"}},
		// With this timing even a busy machine kills the program before it hands over.
		"silent, leases": {size: 3, flags: []string{"--leases", "--notify", "--vouch", "4s", "--timing", "dledger"}},
		"silent, lease":  {size: 2, lease: leaseDatabases["SQLite"](t), flags: []string{"--name", "jobs", "--ttl", "1s", "--notify", "--vouch", "1s"}},
		"ill, votes":     {size: 3, flags: []string{"--alive", `[ ! -e ` + ill + `$HUSTINGS_NODE ]`}},
		"ill, lease": {size: 2, lease: leaseDatabases["SQLite"](t), flags: []string{
			"--name", "jobs", "--ttl", "1s", "--alive", `[ ! -e ` + ill + `lease-$HUSTINGS_NODE ]`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "silent, leases" {
				effort.Long(t)
			}
			o.journal = openDiary(t)
			o.flags = append(o.flags, "--exec", alone)
			c := newCluster(t, o)
			led, worker := c.awaitWorker(o.journal, "alone", c.leaderAfter(0))
			o.journal.goesOn(t, worker, 10)
			at := now()
			switch name {
			case "ill, votes":
				require.NoError(t, os.WriteFile(ill+led.Node, nil, 0o600))
			case "ill, lease":
				require.NoError(t, os.WriteFile(ill+"lease-"+led.Node, nil, 0o600))
			default:
				require.NoError(t, syscall.Kill(worker, syscall.SIGSTOP))
			}
			next := c.await("another node leads", func(e node.Event) bool {
				return e.Event == "lead" && e.Node != led.Node && e.Term > led.Term
			})
			_, heir := c.awaitWorker(o.journal, "alone", next)
			o.journal.goesOn(t, heir, 10)
			t.Logf("%s leads %v after the program of %s has begun to hang", next.Node, time.Duration(next.AtNanos-at), led.Node)
			require.Eventually(t, func() bool { return gone(worker) }, patience, time.Millisecond, "the program that has hung lives")
			assert.Contains(t, c.complaints(led.Node), "this node is not able to lead")
		})
	}
}
