// The bounds of our failover, in detection times, for every measured group and network. The
// trials are deterministic.

package failover

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFailoverStaysWithinItsBound(t *testing.T) {
	for _, s := range Scenarios() {
		if s.Members > 5 && testing.Short() { // because these have by far the most messages
			continue
		}
		o, err := repeatTrials(t.Context(), defaults(), s, 300, processors())
		require.NoError(t, err)
		keeps(t, s, o.All)
	}
}

func keeps(t *testing.T, s Scenario, o Outcome) {
	t.Helper()
	switch s.Loss {
	case 0:
		assert.LessOrEqual(t, o.Max, longest(s), "%s", s)
		assert.Zero(t, o.Contested, "%s", s)
	case 0.01:
		assert.Less(t, o.P99, 1.4+6*s.Delay, "%s: six delays are part of every election", s)
	case 0.1:
		assert.Less(t, o.P99, 2.0, "%s", s)
	}
	if alone := (Scenario{Members: s.Members}); s == alone {
		assert.LessOrEqual(t, o.Mean, 1.03, "%s", s)
		assert.LessOrEqual(t, o.P99, 1.05, "%s", s)
	}
}

// longest returns the bound if no message is lost: the silence, five delays (a heartbeat, and two
// rounds of requests and answers), and a slot, which includes the time of the news. A candidate
// that cannot win costs one more slot.
func longest(s Scenario) float64 {
	slot := max(1.0/30, 3*s.Delay) // 1.5 round trips
	all := 1 + 5*s.Delay + slot
	if s.Dead || s.Behind {
		all += slot
	}
	return all
}
