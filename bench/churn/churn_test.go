package churn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/figure"
)

func TestEveryColdStartComesToALeader(t *testing.T) {
	for _, start := range sides {
		for _, size := range []int{1, 3, 5, 9, 31} {
			took, err := coldStarts(t.Context(), start, size, 5, 1)
			require.NoError(t, err)
			assert.Len(t, took, 5)
		}
	}
}

func TestTransfersTakeNoLessThanTheirMessages(t *testing.T) {
	for _, start := range sides {
		took, err := handAround(t.Context(), start, 20, 1)
		require.NoError(t, err)
		require.Len(t, took, 20)
		for _, each := range took {
			assert.GreaterOrEqual(t, each, milliseconds(delay))
		}
	}
}

func TestOurTimesAreTheSameAgain(t *testing.T) {
	first, err := coldStarts(t.Context(), sides[0], 5, 10, 7)
	require.NoError(t, err)
	second, err := coldStarts(t.Context(), sides[0], 5, 10, 7)
	require.NoError(t, err)
	assert.Equal(t, first, second)
}

func TestWhatIsDueFirstHappensFirst(t *testing.T) {
	w := newWorld(1)
	var order []int
	w.after(2*time.Second, func() { order = append(order, 3) })
	w.after(time.Second, func() { order = append(order, 1) })
	w.after(time.Second, func() { order = append(order, 2) })
	assert.False(t, w.run(time.Second, func() bool { return len(order) == 3 }), "the third is due later")
	assert.Equal(t, []int{1, 2}, order)
	assert.True(t, w.run(time.Second, func() bool { return len(order) == 3 }))
	assert.Equal(t, []int{1, 2, 3}, order)
	w.pass(time.Second)
	assert.Equal(t, 3*time.Second, w.now)
}

func TestASectionTellsOfBothSides(t *testing.T) {
	figures, err := Section().Measure(t.Context(), figure.Plan{Quick: true, Progress: func(string, float64) {}})
	require.NoError(t, err)
	require.Len(t, figures, 10)
	for _, f := range figures {
		assert.Positive(t, f.Ours, f.Name)
		require.NotNil(t, f.Peer, f.Name)
	}
}

// BenchmarkTransfers is what the processor needs for twenty transfers.
func BenchmarkTransfers(b *testing.B) {
	for i, side := range []string{"ours", "peer"} {
		b.Run(side, func(b *testing.B) {
			for b.Loop() {
				if _, err := handAround(b.Context(), sides[i], 20, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
