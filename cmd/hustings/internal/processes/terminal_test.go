//go:build linux

// Nodes whose terminal is closed, or whose output has lost its reader.

package processes_test

import (
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A closed terminal takes a node out of service, as SIGTERM does.
func TestANodeWhoseTerminalIsClosedStopsInOrder(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterOptions{size: 3})
	led := c.leaderAfter(0)
	c.followed(led.Term)
	p := c.nodes[led.Node]
	c.signal(led.Node, syscall.SIGHUP)
	c.handedOver(new(latencies), led, led)
	c.awaitEnd(led.Node)
	assert.NoError(t, p.err, "%s", p.stderr)
}

// Under nohup a node starts with SIGHUP ignored.
func TestANodeUnderNohupOutlivesItsTerminal(t *testing.T) {
	signal.Ignore(syscall.SIGHUP) // the node inherits this
	t.Cleanup(passOnTerminalSignals)
	c := newCluster(t, clusterOptions{size: 1})
	led := c.leaderAfter(0)
	c.signal(led.Node, syscall.SIGHUP)
	c.order("resign", led.Node)
	c.leaderAfter(led.Term)
}

// The reader of a node's output may end first, as tee does with Ctrl-C.
func TestANodeNeedsNoReaderOfItsOutput(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterOptions{size: 1})
	led := c.leaderAfter(0)
	require.NoError(t, c.nodes[led.Node].stdout.Close())
	c.order("resign", led.Node)
	c.order("resign", led.Node)
}
