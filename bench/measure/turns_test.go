package measure

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counting measures 1, 2, 3 ...
func counting(calls *[]string, name string, times float64) Row[float64] {
	n := 0.0
	return Row[float64]{Name: name, Measure: func() (float64, error) {
		n++
		*calls = append(*calls, name)
		return n * times, nil
	}}
}

func TestLibrariesTakeTurnsAndMediansAreCompared(t *testing.T) {
	var calls []string
	rows := []Row[float64]{counting(&calls, "ours", 1), counting(&calls, "slow", 10), counting(&calls, "fast", 5)}
	for range 3 {
		require.NoError(t, Turn(t.Context(), rows))
	}
	assert.Equal(t, []string{"ours", "slow", "fast", "ours", "slow", "fast", "ours", "slow", "fast"}, calls)
	f := Compare("section", "name", "ns", rows, func(v float64) float64 { return v })
	assert.InDelta(t, 2, f.Ours, 0)
	require.NotNil(t, f.Spread)
	assert.InDelta(t, 1, *f.Spread, 0, "(3 - 1) / 2")
	assert.InDelta(t, 10, *f.Peer, 0)
	assert.Equal(t, "fast", f.PeerName)
}

func TestATurnEndsWithItsContextAndWithAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rows := []Row[int]{
		{Measure: func() (int, error) { return 1, nil }},
		{Measure: func() (int, error) { cancel(); return 1, nil }},
	}
	err := Turn(ctx, rows)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, rows[0].Results, "a turn only counts if it was completed")
	require.NoError(t, UnlessOver(ctx, err))

	rows[0].Measure = func() (int, error) { return 0, assert.AnError }
	require.ErrorIs(t, Turn(t.Context(), rows), assert.AnError)
	require.ErrorIs(t, UnlessOver(t.Context(), assert.AnError), assert.AnError)
}

var sink []byte

func TestUseCountsTimeAndMemory(t *testing.T) {
	used, err := UseOf(func() error {
		sink = make([]byte, 1<<20)
		return assert.AnError
	})
	require.ErrorIs(t, err, assert.AnError)
	var total Use
	total.Add(used)
	assert.GreaterOrEqual(t, total.Bytes, uint64(1<<20))
	assert.NotZero(t, total.Allocations)
}

func TestSpreadIsAgainstTheMedian(t *testing.T) {
	for _, c := range []struct {
		values   []float64
		median   float64
		expected *float64
	}{
		{[]float64{9, 10, 14}, 10, new(0.5)},
		{[]float64{3, 3}, 3, new(0.0)},
		{[]float64{0, 0}, 0, new(0.0)},
		{nil, 1, nil},
		{[]float64{1}, 1, nil},
		{[]float64{1, 2}, 0, nil},
	} {
		assert.Equal(t, c.expected, Spread(c.values, c.median), "%v", c.values)
	}
}
