//go:build linux

// A program whose main process obeys SIGTERM and whose other process does not. Its leader is told to hand over, and
// meets with a misfortune when the main process has ended.

package processes_test

import (
	"math/rand/v2"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/internal/effort"
)

// deaf is the name of a worker that does not end when it is asked to.
const deaf = "deaf"

// halfDeaf is a program with such a worker below a shell that does end.
const halfDeaf = `HUSTINGS_TEST_AS_WORKER=` + deaf + ` "$HUSTINGS_TEST_SELF"; true`

func TestAProcessThatDoesNotEndDoesNotOutliveTheTerm(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"without leases": nil, "with leases": {"--leases"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, clusterOptions{
				size: 3, proxied: true, journal: openDiary(t), flags: append(flags, "--exec", halfDeaf),
			})
			harms := []struct {
				name         string
				strike, heal func(id string)
			}{
				{"cut off", func(id string) { c.cutOff(id, true, true) }, func(id string) { c.cutOff(id, true, false) }},
				{"stopped", func(id string) { c.signal(id, syscall.SIGSTOP) }, func(id string) { c.signal(id, syscall.SIGCONT) }},
				{"killed", c.kill, func(id string) { c.start(id) }},
			}
			led := c.leaderAfter(0)
			for i, pick := range rand.Perm(2 * len(harms))[:effort.Of(2*len(harms), 3)] {
				harm, order := harms[pick/2], []string{"transfer", "drain"}[pick%2]
				t.Logf("round %d: %s, and it is %s", i, order, harm.name)
				c.followed(led.Term)
				var f family
				led, f = c.awaitHalfDeaf(led)
				stop := c.orderUntilGone(order, led.Node, f.below[0])
				harm.strike(led.Node)
				next, _ := c.awaitWorker(c.journal, deaf, c.leaderAfter(led.Term))
				require.Eventually(t, func() bool { return gone(f.below[1]) }, patience, time.Millisecond, "its worker lives")
				stop()
				harm.heal(led.Node)
				if order == "drain" {
					c.order("undrain", led.Node)
				}
				led = next
			}
		})
	}
}

// awaitHalfDeaf waits until the program of a term works, or of a later one. Below its watchdogs are the shell and the worker.
func (c *cluster) awaitHalfDeaf(led node.Event) (node.Event, family) {
	c.t.Helper()
	for {
		var worker int
		led, worker = c.awaitWorker(c.journal, deaf, led)
		if f, whole := c.family(led.Node); whole && len(f.below) == 2 && f.below[1] == worker {
			return led, f
		}
		led = c.leaderAfter(led.Term)
	}
}

// orderUntilGone has a leader ordered to hand over until a process has ended, and returns a function that ends the order.
// A leader that has just been elected may refuse, because it has not heard the others yet.
func (c *cluster) orderUntilGone(order, id string, process int) (stop func()) {
	c.t.Helper()
	for range maxTries {
		cmd := c.command(order, "--address", c.listen[id], "--tls", c.dir, "--as", "alice")
		over := c.begin(cmd)
		for again := false; !again; {
			if gone(process) {
				return func() {
					_ = cmd.Process.Kill() // it may have ended
					<-over
				}
			}
			select {
			case <-over:
				again = true
			case <-time.After(time.Millisecond):
			}
		}
	}
	require.FailNow(c.t, "the order is never carried out", order)
	return nil
}

// begin starts a command, and returns a channel that is closed when it has ended.
func (c *cluster) begin(cmd *exec.Cmd) <-chan struct{} {
	c.t.Helper()
	require.NoError(c.t, cmd.Start())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = cmd.Wait() // it is often killed
	}()
	return over
}
