//go:build linux

// Real processes are killed, paused, cut off and restarted, and their events are checked: no
// term has two leaders, no node's term falls, no two leases overlap. These tests run in real
// time, and assert nothing about time except that nothing hangs. They log how long things took.
//
// HUSTINGS_TEST_LONG is the duration of each campaign.

package processes_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/internal/faultproxy"
	"github.com/hustings/hustings/memberstate"
)

// campaign returns a function that says whether to go on after a round: for a few rounds, or
// for HUSTINGS_TEST_LONG.
func campaign(t *testing.T, few int) func(round int) bool {
	t.Helper()
	long := os.Getenv("HUSTINGS_TEST_LONG")
	if long == "" {
		return func(round int) bool { return round < few }
	}
	lasts, err := time.ParseDuration(long)
	require.NoError(t, err)
	began := time.Now()
	return func(int) bool { return time.Since(began) < lasts }
}

func now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // always there
	return t.Nano()
}

// latencies collects the times until the next leader.
type latencies []time.Duration

func (l *latencies) add(from int64, e node.Event) { *l = append(*l, time.Duration(e.AtNanos-from)) }

func (l latencies) report(t *testing.T, what string) {
	t.Helper()
	slices.Sort(l)
	if len(l) > 0 {
		at := func(q int) time.Duration { return l[(len(l)*q+99)/100-1].Round(100 * time.Microsecond) }
		t.Logf("%-8s %4d leader changes, time to the new leader: p50 %v, p99 %v, max %v", what, len(l), at(50), at(99), at(100))
	}
}

// The leader's process is killed. Its connections break, so the others know.
func TestSafetyHoldsWhenLeadersAreKilled(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3, 5} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, clusterOptions{size: size})
			led := c.leaderAfter(0)
			var took latencies
			for round, more := 0, campaign(t, 5); more(round); round++ {
				c.followed(led.Term)
				at := now()
				c.kill(led.Node)
				next := c.leaderAfter(led.Term)
				took.add(at, next)
				c.start(led.Node)
				led = next
			}
			took.report(t, "kill -9")
		})
	}
}

// The leader's process is stopped: it is silent, and its connections stay.
func TestSafetyHoldsWhenLeadersArePaused(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterOptions{size: 3, flags: []string{"--leases"}})
	led := c.leaderAfter(0)
	var took latencies
	for round, more := 0, campaign(t, 3); more(round); round++ {
		c.followed(led.Term)
		at := now()
		c.signal(led.Node, syscall.SIGSTOP)
		next := c.leaderAfter(led.Term)
		took.add(at, next)
		c.signal(led.Node, syscall.SIGCONT)
		led = next
	}
	took.report(t, "SIGSTOP")
}

// The leader hands over, in turn by resigning and by a transfer to a named node.
func TestSafetyHoldsAcrossHandovers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterOptions{size: 3})
	led := c.leaderAfter(0)
	var resigned, handed latencies
	for round, more := 0, campaign(t, 3); more(round); round++ {
		c.followed(led.Term)
		if round%2 == 0 {
			c.order("resign", c.ids[round%3])
			led = c.handedOver(&resigned, led, c.leaderAfter(led.Term))
			continue
		}
		to := c.ids[(slices.Index(c.ids, led.Node)+1)%3]
		c.order("transfer", c.ids[round%3], "--to", to)
		led = c.handedOver(&handed, led, c.await(to+" leads", func(e node.Event) bool {
			return e.Event == "lead" && e.Node == to && e.Term > led.Term
		}))
	}
	resigned.report(t, "resign")
	handed.report(t, "transfer")
}

// handedOver notes how long it took from the moment when a leader had paused its writes until the next
// one led, and returns the next one. Nothing is noted if the leader has lost its term in another way, as on a
// machine that is too busy.
func (c *cluster) handedOver(took *latencies, led, next node.Event) node.Event {
	c.t.Helper()
	e := c.await(led.Node+" leads no more", func(e node.Event) bool {
		return e.Event == "handover" && e.Term == led.Term || e.Event == "role" && e.Node == led.Node && e.Term > led.Term
	})
	if e.Event == "handover" {
		took.add(e.AtNanos, next)
	}
	return next
}

// Links are cut, one way and both ways, while a majority stays connected.
func TestSafetyHoldsWhenLinksAreCut(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterOptions{size: 3, proxied: true})
	led := c.leaderAfter(0)
	var took latencies
	for round, more := 0, campaign(t, 4); more(round); round++ {
		c.followed(led.Term)
		both := round%2 == 0
		at := now()
		c.cutOff(led.Node, both, true)
		next := c.leaderAfter(led.Term)
		took.add(at, next)
		c.cutOff(led.Node, both, false)
		led = next
	}
	took.report(t, "cut")
}

// cutOff cuts everything that a node sends and, with both, everything that is sent to it.
func (c *cluster) cutOff(id string, both, cut bool) {
	for link, p := range c.proxies {
		if link[0] != id && link[1] != id {
			continue
		}
		for direction, from := range map[faultproxy.Direction]string{faultproxy.Calls: link[0], faultproxy.Answers: link[1]} {
			if from == id || both {
				p.SetHeld(direction, cut)
			}
		}
	}
}

// Random faults of all kinds together: no term has two leaders, and a majority that is up and
// connected has a leader.
func TestSafetyHoldsUnderAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	for _, leases := range []bool{false, true} {
		t.Run(fmt.Sprintf("leases=%v", leases), func(t *testing.T) {
			t.Parallel()
			o := clusterOptions{size: 5, proxied: true}
			if leases {
				o.flags = []string{"--leases"}
			}
			c := newCluster(t, o)
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			led := c.leaderAfter(0)
			for round, more := 0, campaign(t, 4); more(round); round++ {
				victims := r.Perm(5)[:2]
				if leader := slices.Index(c.ids, led.Node); !slices.Contains(victims, leader) {
					victims[0] = leader // a leader change a round
				}
				heal := c.strike(r, victims)
				led = c.leaderAfter(led.Term)
				heal()
			}
			t.Logf("%d events, up to term %d", c.checker.Events(), led.Term)
		})
	}
}

// strike applies a random fault to each victim, and returns a function that undoes them.
func (c *cluster) strike(r *rand.Rand, victims []int) (heal func()) {
	var undo []func()
	for _, v := range victims {
		id := c.ids[v]
		switch r.IntN(3) {
		case 0:
			c.kill(id)
			undo = append(undo, func() { c.start(id) })
		case 1:
			c.signal(id, syscall.SIGSTOP)
			undo = append(undo, func() { c.signal(id, syscall.SIGCONT) })
		default:
			both := r.IntN(2) == 0
			c.cutOff(id, both, true)
			undo = append(undo, func() { c.cutOff(id, both, false) })
		}
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// A program runs only on the leader, and does not outlive its office.
func TestTheProgramEndsWithTheOffice(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	c := newCluster(t, clusterOptions{size: 3, flags: []string{
		"--leases", "--exec", `echo "$HUSTINGS_TERM $HUSTINGS_NODE $HUSTINGS_GROUP $$" >> ` + pids + `; exec sleep 1000`,
	}})
	term := c.leaderAfter(0).Term
	for _, end := range []func(leader string){
		c.kill,
		func(leader string) { c.signal(leader, syscall.SIGSTOP) },
		func(leader string) { c.order("resign", leader) },
	} {
		c.followed(term)
		p := started(t, pids, "demo", term)
		end(p.node)
		require.Eventually(t, func() bool { return gone(p.pid) }, patience, time.Millisecond, "the program of term %d lives", p.term)
		term = c.leaderAfter(p.term).Term
		if c.nodes[p.node] == nil {
			c.start(p.node)
		} else {
			c.signal(p.node, syscall.SIGCONT)
		}
	}
}

// program is a leader's program, as it describes itself.
type program struct {
	term memberstate.Term
	node string
	pid  int
}

// started waits until the program of a term runs and has described itself, or that of a later
// term, because on a busy machine a leader may go before its program has.
func started(t *testing.T, pids, group string, term memberstate.Term) (p program) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(pids)
		for line := range strings.Lines(string(text)) {
			number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			leader, rest, _ := strings.Cut(rest, " ")
			if pid, whole := strings.CutPrefix(rest, group+" "); whole {
				said, _ := strconv.ParseUint(number, 10, 64)
				p = program{term: memberstate.Term(said), node: leader}
				p.pid, _ = strconv.Atoi(pid)
			}
		}
		return p.pid != 0 && p.term >= term && !gone(p.pid)
	}, patience, time.Millisecond, "the program of %s in term %d", group, term)
	return p
}

// gone reports whether a process has ended; it may still wait for its parent.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// A program that ends by itself ends the office.
func TestAProgramThatEndsGivesTheLeadershipUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterOptions{size: 3, flags: []string{"--exec", "exit 3"}})
	var last memberstate.Term
	for range 3 {
		last = c.leaderAfter(last).Term
	}
}

func TestOperatorsCommandsWorkOnRealProcesses(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterOptions{size: 3, flags: []string{"--leases"}})
	led := c.leaderAfter(0)
	c.followed(led.Term)
	assert.Contains(t, c.operate("status", led.Node), `"role":"leader"`)
	out, err := c.run("status", "--address", c.listen["n0"], "--tls", c.dir, "--as", "n0")
	assert.ErrorContains(t, err, "exit status 1", "a member is no operator")
	assert.Contains(t, out, "n0")
	store, err := c.run("store", "inspect", "--json", node.StorePath(c.dir, led.Node))
	require.NoError(t, err)
	assert.Contains(t, store, fmt.Sprintf(`"vote":%q`, led.Node))
	_, err = c.run("serve", "--node", "n0", "--members", "n0=127.0.0.1:1", "--data", c.dir)
	assert.ErrorContains(t, err, "another process has the store open")
	_, err = c.run("serve", "--node", "n9", "--members", "n9=127.0.0.1:1", "--data", c.dir)
	assert.ErrorContains(t, err, "there is no store")
	assert.ErrorContains(t, err, "--new")
}
