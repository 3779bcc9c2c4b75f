//go:build linux

// Three real processes are stopped and started again, one after the other, as in an update: leaders hand over.

package processes_test

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
)

// A node that leads and is told to stop ends only after another one leads a later term, so that nobody has to notice that it is
// gone. The leader is stopped each time.
func TestLeadersThatAreStoppedHandOver(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterOptions{size: 3})
	led := c.leaderAfter(0)
	var took latencies
	for round, more := 0, campaign(t, 3); more(round); round++ {
		c.followed(led.Term)
		old := c.nodes[led.Node]
		at := now()
		c.signal(led.Node, syscall.SIGTERM)
		next := c.leaderAfter(led.Term)
		took.add(at, next)
		<-old.ended
		require.NoError(t, old.err, old.stderr)
		stopped := c.stopped(led)
		assert.NotEqual(t, led.Node, next.Node)
		assert.Less(t, next.AtNanos, stopped.AtNanos, "%s leads before %s has stopped", next.Node, led.Node)
		c.start(led.Node)
		led = next
	}
	took.report(t, "stopped")
}

// stopped is the event that the process has stopped which led this term.
func (c *cluster) stopped(led node.Event) node.Event {
	return c.await(led.Node+" stops", func(e node.Event) bool { return e.Event == "stop" && e.Process == led.Process })
}

// Each node is drained by command before it is stopped, and serves again when it is started again.
func TestNodesAreDrainedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterOptions{size: 3})
	led := c.leaderAfter(0)
	for _, id := range slices.Clone(c.ids) {
		c.followed(led.Term)
		leads := led.Node == id
		c.order("drain", id)
		if leads {
			led = c.leaderAfter(led.Term)
			assert.NotEqual(t, id, led.Node)
		}
		assert.Equal(t, "drained", c.known(id)[id])
		c.signal(id, syscall.SIGTERM)
		<-c.nodes[id].ended
		c.start(id)
		assert.Equal(t, "serving", c.known(id)[id])
	}
}

// known is a node's own standing, and what it knows of that of the others, by id.
func (c *cluster) known(by string) map[string]string {
	c.t.Helper()
	out, err := c.tryToOperate("nodes", by)
	for range maxTries { // a machine that is too busy may need longer than the command waits
		if err == nil {
			break
		}
		c.t.Logf("nodes: %v: %s", err, out)
		out, err = c.tryToOperate("nodes", by)
	}
	require.NoError(c.t, err, out)
	states := map[string]string{}
	for line := range strings.Lines(out) {
		var row struct {
			Node  string `json:"node"`
			State string `json:"state"`
			Heard []struct {
				Node  string `json:"node"`
				State string `json:"state"`
			} `json:"heard_by"`
		}
		require.NoError(c.t, json.Unmarshal([]byte(line), &row))
		if row.Node == by {
			states[by] = row.State
		}
		for _, h := range row.Heard {
			if h.Node == by {
				states[row.Node] = h.State
			}
		}
	}
	return states
}

// awaitKnown waits until a node knows that another one's standing is this.
func (c *cluster) awaitKnown(by, of, state string) {
	c.t.Helper()
	last := map[string]string{}
	require.Eventually(c.t, func() bool {
		last = c.known(by)
		return last[of] == state
	}, patience, 10*time.Millisecond, "%s knows that %s is %s, and not %v", by, of, state, last)
}

// The others are told that a node drains, also if something vouches for its program. They know it of the process that has said so:
// while it is down, and no longer when another one has been started.
func TestTheOthersKnowThatANodeDrains(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"alone": nil, "leases": {"--leases"}, "with a program": {"--exec", "exec sleep 1000", "--alive", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, clusterOptions{size: 3, flags: flags})
			led := c.leaderAfter(0)
			c.followed(led.Term)
			i := slices.Index(c.ids, led.Node)
			drained, other := c.ids[(i+1)%3], c.ids[(i+2)%3]
			c.awaitKnown(led.Node, drained, "serving")
			c.order("drain", drained)
			c.awaitKnown(led.Node, drained, "drained")
			c.order("undrain", drained)
			c.awaitKnown(led.Node, drained, "serving")
			c.order("drain", drained)
			c.awaitKnown(led.Node, drained, "drained")
			c.kill(drained)
			assert.Equal(t, map[string]string{led.Node: "serving", drained: "drained", other: "serving"}, c.known(led.Node), "nobody else has spoken for it")
			c.start(drained)
			c.awaitKnown(led.Node, drained, "serving")
		})
	}
}

// A node that drains and has nobody to hand over to tries again ever more rarely, at last after more than half a minute. When another
// node serves again, it does not wait for that.
func TestANodeThatDrainsHandsOverWhenAnotherServesAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterOptions{size: 3})
	c.followed(c.leaderAfter(0).Term)
	stuck := c.drainAll()
	other := c.ids[(slices.Index(c.ids, stuck)+1)%3]
	at := now()
	c.order("undrain", other)
	c.await(other+" leads", func(e node.Event) bool { return e.Event == "lead" && e.Node == other && e.AtNanos > at })
}

// drainAll drains all nodes until one leads that has often tried to hand over in vain, and returns it.
func (c *cluster) drainAll() (leader string) {
	c.t.Helper()
	for range 2 * maxTries {
		for _, id := range c.ids {
			said, _ := c.tryToOperate("drain", id) // a leader tries at once, once more
			if strings.Contains(said, `"reason":"all leaving","tries":8`) {
				return id
			}
		}
	}
	require.FailNow(c.t, "nobody is stuck")
	return ""
}
