// The end of the loop of a node that drains.

package elector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// An order to drain may be taken after the last turn, and its caller waits until the node is drained.
func TestANodeThatIsOrderedToDrainInTheEndIsDrained(t *testing.T) {
	h := IsolatedHost(t, new(memberstate.MemStore))
	h.finish()
	assert.Equal(t, rpc.Serving, h.Progress().Standing.State)
	h.node.Drain(0)
	assert.Equal(t, rpc.Draining, h.Progress().Standing.State)
	h.finish()
	assert.Equal(t, rpc.Drained, h.Progress().Standing.State)
}

// The order is among what the loop finds in its queue in the end.
func TestANodeThatFindsTheOrderToDrainInTheEndIsDrained(t *testing.T) {
	h, _ := withoutLoop(t)
	h.take() // the start of a group, which is not of interest
	h.batch = protocol.Taken{}
	require.True(t, h.request(protocol.Request{Subject: protocol.Subject{Kind: protocol.AskDrain}, Then: func() {}}))
	h.finish()
	assert.Equal(t, rpc.Drained, h.Progress().Standing.State)
}
