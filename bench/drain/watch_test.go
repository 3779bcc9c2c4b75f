package drain

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/measure"
)

func TestAGapLastsFromTheFirstPauseUntilAnotherOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(4)
		for g := range 4 {
			w.leads(leader(g), g, 1) // group 2 is led by node 2, the others by the others
		}
		before := w.note()
		w.pauses(2)
		require.NoError(t, measure.Pass(t.Context(), 3*time.Millisecond))
		w.pauses(2) // in vain the first time
		require.NoError(t, measure.Pass(t.Context(), 2*time.Millisecond))
		w.leads(1, 2, 2)
		w.leads(2, 2, 1) // news of an older term
		require.NoError(t, measure.Pass(t.Context(), time.Second))
		assert.Equal(t, Drain{Moved: 1, Seconds: 0.005, P50: 5, P99: 5, Longest: 5, Again: 1, Load: 1}, w.since(before, 2, []int{0, 1}))
	})
}

func TestGroupsOfOthersThatPauseOrChangeTheirTermAreDisturbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(6)
		for g := range 6 {
			w.leads(leader(g), g, 1)
		}
		before := w.note()
		w.pauses(0)
		w.leads(1, 1, 2) // the same leader in another term
		d := w.since(before, 2, []int{0, 1, 2})
		assert.InDelta(t, 2, d.Disturbed, 0)
		assert.InDelta(t, 2, d.Left, 0)
		assert.Zero(t, d.Moved)
		before = w.note()
		assert.Zero(t, w.since(before, 2, []int{0, 1, 2}).Disturbed, "counts begin anew")
	})
}

func TestTheLoadIsOfTheNodesThatServe(t *testing.T) {
	w := newWatch(5)
	assert.Zero(t, w.spread([]int{0, 1}), "nobody leads")
	for g, node := range []int{0, 0, 0, 1, nobody} {
		if node != nobody {
			w.leads(node, g, 1)
		}
	}
	assert.InDelta(t, 1.5, w.spread([]int{0, 1}), 1e-9)
	assert.InDelta(t, 2.25, w.spread([]int{0, 1, 2}), 1e-9)
}
