//go:build linux

// The leader's program is ended with all its descendants, whatever happens to its node and the
// watchdogs, so that none of them writes while the next leader's program does.

package processes_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path/filepath"
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

// asWorker in the environment makes this binary a worker with that name; journal is the file
// that workers write to, and self is this binary.
const (
	asWorker = "HUSTINGS_TEST_AS_WORKER"
	journal  = "HUSTINGS_TEST_JOURNAL"
	self     = "HUSTINGS_TEST_SELF"
)

// workers starts four workers: a child of the shell, one in a session of its own, and the same
// two without a parent.
const workers = `HUSTINGS_TEST_AS_WORKER=session "$HUSTINGS_TEST_SELF" &
(HUSTINGS_TEST_AS_WORKER=orphan "$HUSTINGS_TEST_SELF" &)
(HUSTINGS_TEST_AS_WORKER=session-orphan "$HUSTINGS_TEST_SELF" &)
cd / && HUSTINGS_TEST_AS_WORKER=grandchild "$HUSTINGS_TEST_SELF"; echo done`

const workersStarted = 4

// work writes to the journal all the time, until it is asked to end. A deaf worker does not hear that.
func work(name string) {
	if strings.HasPrefix(name, "session") {
		_, _ = syscall.Setsid() // cannot fail, because it leads no process group
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	file, err := os.OpenFile(os.Getenv(journal), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(1)
	}
	for what := "works"; ; {
		// It begins a new line, because another worker may have been killed amid its line.
		_, err := fmt.Fprintf(file, "\n%s %s %d %d %s\n", os.Getenv("HUSTINGS_TERM"), name, os.Getpid(), now(), what)
		if err != nil || what == "asked" {
			os.Exit(0)
		}
		vouch()
		select {
		case <-asked:
			if name != deaf {
				what = "asked"
			}
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// vouch says that the worker can work, if anybody wants to hear that.
func vouch() {
	if socket := os.Getenv("NOTIFY_SOCKET"); socket != "" {
		if c, err := net.Dial("unixgram", socket); err == nil {
			_, _ = c.Write([]byte("WATCHDOG=1")) // the node is gone if this fails
			_ = c.Close()
		}
	}
}

// entry is a line of the journal.
type entry struct {
	term memberstate.Term
	name string
	pid  int
	at   int64
	what string
}

// diary is the part of the journal that was read. Its lines are in the order of writing, over
// all workers.
type diary struct {
	file    *os.File
	rest    []byte // the beginning of an incomplete line
	entries []entry
}

func openDiary(t *testing.T) *diary {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "journal"), os.O_CREATE|os.O_RDONLY, 0o600)
	require.NoError(t, err)
	d := &diary{file: file}
	t.Cleanup(func() {
		d.killAll(t)
		assert.NoError(t, file.Close())
	})
	return d
}

// killAll ends the workers that are left after a test that has failed.
func (d *diary) killAll(t *testing.T) {
	t.Helper()
	killed := map[int]bool{}
	for _, e := range d.read(t) {
		if runs, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", e.pid)); !killed[e.pid] && runs == os.Args[0] {
			killed[e.pid] = true
			_ = syscall.Kill(e.pid, syscall.SIGKILL) // it may have ended just now
		}
	}
}

// read reads on, and returns all that was read.
func (d *diary) read(t *testing.T) []entry {
	t.Helper()
	text, err := io.ReadAll(d.file)
	require.NoError(t, err)
	d.rest = append(d.rest, text...)
	for {
		line, rest, whole := bytes.Cut(d.rest, []byte("\n"))
		if !whole {
			return d.entries
		}
		d.rest = rest
		const fields = 5
		if len(bytes.Fields(line)) < fields {
			continue // its writer was killed when the first of two pages had been written; or it is empty
		}
		var e entry
		_, err := fmt.Sscan(string(line), &e.term, &e.name, &e.pid, &e.at, &e.what)
		require.NoError(t, err)
		d.entries = append(d.entries, e)
	}
}

// staff returns the workers of a term: their names and process ids.
func (d *diary) staff(t *testing.T, term memberstate.Term) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, e := range d.read(t) {
		if e.term == term {
			all[e.name] = e.pid
		}
	}
	return all
}

// family is a node, its watchdogs, and all below them.
type family struct {
	node, outer, inner int
	below              []int
}

// signal sends a signal to some of the processes, as simultaneously as possible. The signal to
// one may already have ended another.
func (f family) signal(t *testing.T, s syscall.Signal, to ...int) {
	t.Helper()
	for _, pid := range to {
		if err := syscall.Kill(pid, s); err != nil {
			require.ErrorIs(t, err, syscall.ESRCH)
		}
	}
}

// children returns the ids of a process's children.
func children(t *testing.T, of int) (all []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	require.NoError(t, err)
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may have ended
		for id := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(id)
			require.NoError(t, err)
			all = append(all, pid)
		}
	}
	return all
}

func nameOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // none if it has ended
	return strings.TrimSpace(string(text))
}

// family returns false if the node has no watchdogs, because its office has ended.
func (c *cluster) family(id string) (f family, whole bool) {
	c.t.Helper()
	f.node = c.nodes[id].cmd.Process.Pid
	of := f.node
	for _, child := range []*int{&f.outer, &f.inner} {
		all := children(c.t, of)
		if len(all) != 1 {
			return f, false
		}
		of, *child = all[0], all[0]
	}
	f.below = children(c.t, f.inner)
	for i := 0; i < len(f.below); i++ {
		f.below = append(f.below, children(c.t, f.below[i])...)
	}
	return f, true
}

// awaitEnd waits for the end of a node that was stopped or killed.
func (c *cluster) awaitEnd(id string) {
	c.t.Helper()
	select {
	case <-c.nodes[id].ended:
		delete(c.nodes, id)
	case <-time.After(patience):
		require.FailNow(c.t, "does not end", id)
	}
}

// misfortune is what happens to a leader.
type misfortune struct {
	name   string
	strike func(t *testing.T, f family)
	// ends says that the node ends, stops that it is stopped and continued later.
	ends, stops bool
}

func toTheGroup(s syscall.Signal) func(*testing.T, family) {
	return func(t *testing.T, f family) { t.Helper(); f.signal(t, s, -f.node) }
}

// Of these a node knows, and asks its program to end.
var orderly = []misfortune{
	{"SIGINT to the group", toTheGroup(syscall.SIGINT), true, false},
	{"SIGTERM to the group", toTheGroup(syscall.SIGTERM), true, false},
	{"SIGHUP to the group, as by a terminal", toTheGroup(syscall.SIGHUP), true, false},
	{"SIGTERM to all, as by systemd", func(t *testing.T, f family) {
		t.Helper()
		f.signal(t, syscall.SIGTERM, append(f.below, f.node, f.outer, f.inner)...)
	}, true, false},
}

var sudden = []misfortune{
	{"SIGTSTP to the group", toTheGroup(syscall.SIGTSTP), false, true},
	{"SIGSTOP to the group", toTheGroup(syscall.SIGSTOP), false, true},
	{"SIGKILL to the group", toTheGroup(syscall.SIGKILL), true, false},
	{"SIGSTOP to the node", func(t *testing.T, f family) { t.Helper(); f.signal(t, syscall.SIGSTOP, f.node) }, false, true},
	{"SIGKILL to all of the node's name", func(t *testing.T, f family) {
		t.Helper()
		named := slices.DeleteFunc([]int{f.node, f.outer, f.inner}, func(pid int) bool { return nameOf(pid) != nameOf(f.node) })
		f.signal(t, syscall.SIGKILL, named...)
	}, true, false},
	{"SIGKILL to node and outer watchdog", func(t *testing.T, f family) { t.Helper(); f.signal(t, syscall.SIGKILL, f.node, f.outer) }, true, false},
	{"SIGKILL to node and inner watchdog", func(t *testing.T, f family) { t.Helper(); f.signal(t, syscall.SIGKILL, f.node, f.inner) }, true, false},
	{"SIGKILL to the outer watchdog", func(t *testing.T, f family) { t.Helper(); f.signal(t, syscall.SIGKILL, f.outer) }, false, false},
	{"SIGKILL to the inner watchdog", func(t *testing.T, f family) { t.Helper(); f.signal(t, syscall.SIGKILL, f.inner) }, false, false},
	{"SIGSTOP to node and inner watchdog", func(t *testing.T, f family) { t.Helper(); f.signal(t, syscall.SIGSTOP, f.node, f.inner) }, false, true},
	{"SIGSTOP to the outer watchdog", func(t *testing.T, f family) { t.Helper(); f.signal(t, syscall.SIGSTOP, f.outer) }, false, false},
}

func TestNothingOfAProgramOutlivesTheOffice(t *testing.T) {
	t.Parallel()
	d := openDiary(t)
	c := newCluster(t, clusterOptions{size: 3, grouped: true, journal: d, flags: []string{"--leases", "--exec", workers}})
	c.sufferAll(d, sudden, effort.Of(len(sudden), 4), func(misfortune, node.Event) {})
	d.assertNoneBesideALaterTerm(t)
}

// The lease lasts for seconds here, so that even a worker which gets no processor for a while can say that it was asked.
func TestAProgramIsAskedToEndBeforeTheOfficeIsOver(t *testing.T) {
	t.Parallel()
	d := openDiary(t)
	c := newCluster(t, clusterOptions{size: 3, grouped: true, journal: d, flags: []string{"--leases", "--timing", "dledger", "--exec", workers}})
	c.sufferAll(d, orderly, effort.Of(len(orderly), 2), func(m misfortune, led node.Event) {
		assert.ElementsMatch(t, slices.Collect(maps.Keys(d.staff(t, led.Term))), d.askedOf(t, led.Term), m.name)
	})
	d.assertNoneBesideALaterTerm(t)
}

// sufferAll has some of these misfortunes strike, one after another. After each, check is told who led before it.
func (c *cluster) sufferAll(d *diary, from []misfortune, some int, check func(misfortune, node.Event)) {
	c.t.Helper()
	led := c.leaderAfter(0)
	for round, more := 0, campaign(c.t, 1); more(round); round++ {
		for _, i := range rand.Perm(len(from))[:some] {
			m := from[i]
			c.followed(led.Term)
			var f family
			led, f = c.awaitFamily(d, led)
			next := c.suffer(d, m, led, f)
			c.t.Logf("%-36s nothing wrote for %v", m.name, d.gap(c.t, led.Term, next.Term))
			check(m, led)
			led = next
		}
	}
}

// assertNoneBesideALaterTerm checks that no worker wrote after one of a later term.
func (d *diary) assertNoneBesideALaterTerm(t *testing.T) {
	t.Helper()
	last := memberstate.Term(0)
	for _, e := range d.read(t) {
		assert.GreaterOrEqual(t, e.term, last, "%s of term %d wrote beside term %d", e.name, e.term, last)
		last = max(last, e.term)
	}
}

// A leader that leaves asks its program to end, even if there is no node to hand over to.
func TestTheLastLeaderAsksItsProgramToEnd(t *testing.T) {
	t.Parallel()
	d := openDiary(t)
	c := newCluster(t, clusterOptions{size: 1, journal: d, flags: []string{"--exec", workers}})
	led := c.awaitStaff(d, c.leaderAfter(0))
	c.signal(led.Node, syscall.SIGTERM)
	c.awaitEnd(led.Node)
	staff := d.staff(t, led.Term)
	assert.ElementsMatch(t, slices.Collect(maps.Keys(staff)), d.askedOf(t, led.Term))
	for name, pid := range staff {
		assert.True(t, gone(pid), "%s lives", name)
	}
}

// So does a leader that is told to resign.
func TestALeaderThatResignsAloneAsksItsProgramToEnd(t *testing.T) {
	t.Parallel()
	d := openDiary(t)
	c := newCluster(t, clusterOptions{size: 1, journal: d, flags: []string{"--exec", workers}})
	led := c.awaitStaff(d, c.leaderAfter(0))
	staff := d.staff(t, led.Term)
	c.order("resign", led.Node)
	assert.ElementsMatch(t, slices.Collect(maps.Keys(staff)), d.askedOf(t, led.Term))
	for name, pid := range staff {
		assert.True(t, gone(pid), "%s lives", name)
	}
	assert.Greater(t, c.leaderAfter(led.Term).Term, led.Term, "it leads again")
}

// A program that does not end when asked does not hold up its node.
func TestTheLastLeaderKillsAProgramThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	c := newCluster(t, clusterOptions{size: 1, flags: []string{
		"--exec", `trap "" TERM; echo "$HUSTINGS_TERM $HUSTINGS_NODE $HUSTINGS_GROUP $$" >> ` + pids + `; while :; do sleep 1; done`,
	}})
	p := started(t, pids, "demo", c.leaderAfter(0).Term)
	c.signal(p.node, syscall.SIGTERM)
	c.awaitEnd(p.node)
	assert.True(t, gone(p.pid))
}

// awaitStaff waits until all workers of a term work, or of a later term, because on a busy
// machine a leader may lose its office first.
func (c *cluster) awaitStaff(d *diary, led node.Event) node.Event {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		c.mu.Lock()
		for _, e := range c.events {
			if e.Event == "lead" && e.Term > led.Term {
				led = e
			}
		}
		c.mu.Unlock()
		return len(d.staff(c.t, led.Term)) == workersStarted
	}, patience, 10*time.Millisecond, "the program of term %d", led.Term)
	return led
}

// awaitFamily is awaitStaff that also returns the leader's family.
func (c *cluster) awaitFamily(d *diary, led node.Event) (node.Event, family) {
	c.t.Helper()
	for {
		led = c.awaitStaff(d, led)
		if f, whole := c.family(led.Node); whole {
			return led, f
		}
		led = c.leaderAfter(led.Term)
	}
}

// suffer applies a misfortune to a leader, and waits for the next leader with a working program.
func (c *cluster) suffer(d *diary, m misfortune, led node.Event, f family) (next node.Event) {
	c.t.Helper()
	old := d.staff(c.t, led.Term)
	m.strike(c.t, f)
	if m.ends {
		c.awaitEnd(led.Node)
	}
	next = c.awaitStaff(d, c.leaderAfter(led.Term))
	for name, pid := range old {
		assert.True(c.t, gone(pid), "%s: %s lives", m.name, name)
	}
	if m.stops {
		f.signal(c.t, syscall.SIGCONT, f.node)
		c.await(led.Node+" knows that it does not lead any more", func(e node.Event) bool {
			return e.Event == "role" && e.Node == led.Node && e.Term >= next.Term
		})
	}
	for _, pid := range []int{f.outer, f.inner} {
		require.Eventually(c.t, func() bool { return gone(pid) }, patience, time.Millisecond, "%s: a watchdog lives", m.name)
	}
	if m.ends {
		c.start(led.Node)
	}
	return next
}

// askedOf returns the workers of a term that were asked to end.
func (d *diary) askedOf(t *testing.T, term memberstate.Term) (names []string) {
	t.Helper()
	for _, e := range d.read(t) {
		if e.term == term && e.what == "asked" {
			names = append(names, e.name)
		}
	}
	return names
}

// gap returns the time from the last write of one term until the first write of another.
func (d *diary) gap(t *testing.T, from, to memberstate.Term) time.Duration {
	t.Helper()
	var last, first int64
	for _, e := range d.read(t) {
		switch {
		case e.term == from:
			last = e.at
		case e.term == to && first == 0:
			first = e.at
		}
	}
	return time.Duration(first - last).Round(100 * time.Microsecond)
}

// A node whose program fails at once stands back, for longer each time, and the other nodes
// lead meanwhile. This holds for voting and for leases.
func TestANodeWhoseProgramFailsStandsBack(t *testing.T) {
	effort.Long(t)
	t.Parallel()
	for name, o := range map[string]clusterOptions{
		"votes": {size: 3, flags: []string{"--exec", "/nonexistent"}},
		"lease": {size: 2, lease: leaseDatabases["SQLite"](t), flags: []string{"--name", "jobs", "--ttl", "1s", "--exec", "exit 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, o)
			var led node.Event
			offices := map[string][]int64{} // when each node began to lead
			for len(offices) < o.size || len(offices[led.Node]) < 3 {
				led = c.leaderAfter(led.Term)
				offices[led.Node] = append(offices[led.Node], led.AtNanos)
			}
			for id, began := range offices {
				for i := range began[1:] {
					stoodBack := time.Duration(began[i+1] - began[i])
					assert.GreaterOrEqual(t, stoodBack, time.Second<<i, "%s after failure %d", id, i+1)
				}
			}
			for _, id := range c.ids {
				assert.Regexp(t, "ended by itself: exit status", c.complaints(id))
			}
		})
	}
}

// complaints ends a node, and returns its log.
func (c *cluster) complaints(id string) string {
	c.t.Helper()
	p := c.nodes[id]
	c.signal(id, syscall.SIGTERM)
	c.awaitEnd(id)
	assert.NoError(c.t, p.err)
	return p.stderr.String()
}
