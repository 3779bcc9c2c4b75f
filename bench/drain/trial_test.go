package drain

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sides are all that is measured.
var sides = []string{own, ownPreferred, newer}

// small has an odd number of groups for each node, more than are handed over at a time.
const small = 3 * 131

func TestANodeIsDrainedAndServesAndAnotherOneIsDrained(t *testing.T) {
	for _, side := range sides {
		t.Run(side, func(t *testing.T) {
			o, err := Trial(t, Task{Side: side, Groups: small, Delay: 5 * time.Millisecond, Save: 2 * time.Millisecond})
			require.NoError(t, err)
			for _, d := range []Drain{o.First, o.Second} {
				assert.Zero(t, d.Left, "the node leads nothing")
				assert.Zero(t, d.Disturbed, "nothing happens to the groups of others")
				assert.Zero(t, d.Again)
				assert.LessOrEqual(t, d.Seconds, d.Returned)
				assert.LessOrEqual(t, d.P50, d.P99)
				assert.LessOrEqual(t, d.P99, d.Longest)
			}
			assert.InDelta(t, small/hosts, o.First.Moved, 0)
			assert.InDelta(t, 1, o.First.Load, 0.1, "both others lead about half")
			if side == ownPreferred {
				assert.InDelta(t, small/hosts, o.Back, 0)
				assert.InDelta(t, 1, o.LoadAfter, 0.1)
			} else {
				assert.Zero(t, o.Back)
				assert.InDelta(t, 1.5, o.LoadAfter, 0.1, "two lead all")
			}
		})
	}
}

// A handover of ours is a request and a vote, with a save of the voter that takes over. A transfer of etcd/raft is an order, a
// vote and its answer, with a save of both voters. Each save may have to wait for the one before.
func TestAGapTakesSoManyMessagesAndSaves(t *testing.T) {
	for _, network := range []struct{ delay, save time.Duration }{{5 * time.Millisecond, 0}, {0, 2 * time.Millisecond}, {5 * time.Millisecond, 2 * time.Millisecond}} {
		for side, least := range map[string]time.Duration{
			own:   2*network.delay + network.save,
			newer: 3*network.delay + 2*network.save,
		} {
			o, err := Trial(t, Task{Side: side, Groups: small, Delay: network.delay, Save: network.save})
			require.NoError(t, err)
			assert.InDelta(t, 1000*least.Seconds(), o.First.P50, 1000*network.save.Seconds()+1e-6, "%s, %+v", side, network)
			assert.LessOrEqual(t, o.First.Longest, 1000*(least+2*network.save).Seconds()+1e-6, "%s, %+v", side, network)
		}
	}
}

func TestATrialNeedsASide(t *testing.T) {
	_, err := Trial(t, Task{Side: "nobody"})
	require.ErrorContains(t, err, `no side "nobody"`)
}

func TestRealTimeIsMeasuredToo(t *testing.T) {
	for _, side := range []string{own, newer} {
		o, err := Trial(t, Task{Side: side, Groups: 9, Real: true})
		require.NoError(t, err)
		assert.Zero(t, o.First.Left, "%s, whatever else the machine does", side)
	}
}

func TestATrialEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, side := range sides {
		_, err := run(ctx, Task{Side: side, Groups: 3, Real: true}, founders[side])
		require.ErrorIs(t, err, context.Canceled)
	}
}
