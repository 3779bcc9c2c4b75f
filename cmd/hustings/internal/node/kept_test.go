// A node that an operator keeps drained, while its machine is repaired and started several times.

package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc"
)

// operates connects an operator with a node, for one call.
func (v *village) operates(id string, call func(*operator.Client)) {
	v.t.Helper()
	for _, m := range v.members {
		if m.ID == id {
			c, err := operator.Dial(m.Address, nil)
			require.NoError(v.t, err)
			call(c)
			require.NoError(v.t, c.Close())
		}
	}
}

// keep has a node drained also after it is started again.
func (v *village) keep(id string) (err error) {
	v.t.Helper()
	v.operates(id, func(c *operator.Client) {
		_, err = c.DrainAndKeep(v.t.Context(), time.Minute, func(elector.Progress) {})
	})
	return err
}

// restarted is the progress of a node that was started again, once it takes part.
func (v *village) restarted(id string) (p elector.Progress) {
	v.t.Helper()
	require.NoError(v.t, v.end(id))
	v.start(id)
	v.takesPart(id)
	v.operates(id, func(c *operator.Client) {
		now, err := c.Nodes(v.t.Context())
		require.NoError(v.t, err)
		p = now.Progress
	})
	return p
}

// A node without a store has nothing that could remember it.
//
// This test is not parallel to others, see TestANodeThatLostItsStoreIsNotNew.
func TestANodeIsKeptDrainedOnceItHasAStore(t *testing.T) {
	v := newVillage(t)
	founder := func(c *node.Config) { c.New, c.NewIfMissing = true, false }
	v.start("n0", founder)
	late := v.start("n2")
	v.says(&late.log, "waiting for all voters")
	require.ErrorContains(t, v.keep("n2"), `node "n2" runs no group`)
	v.start("n1", founder)
	v.takesPart("n2")

	require.NoError(t, v.keep("n2"))
	for range 2 {
		p := v.restarted("n2")
		assert.Contains(t, []rpc.NodeState{rpc.Draining, rpc.Drained}, p.Standing.State)
		assert.True(t, p.Kept)
	}
	v.operates("n2", func(c *operator.Client) { require.NoError(t, c.Undrain(t.Context())) })
	p := v.restarted("n2")
	assert.Equal(t, rpc.Serving, p.Standing.State)
	assert.False(t, p.Kept)
}
