package churn

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/ours"
	"github.com/hustings/hustings/bench/virtual"
)

var libraries = map[string]func(context.Context, Task) (Times, error){"ours": Ours, "etcd": Etcd}

func TestWhateverItsSizeAGroupStartsAndHandsOver(t *testing.T) {
	for name, library := range libraries {
		for _, size := range []int{3, 5, 9, 31} {
			first, err := library(t.Context(), Task{size, 5, 20, 1})
			require.NoError(t, err, name)
			assert.Positive(t, first.Start.P50, name)
			// The leader has said something, and what follows from it has been said, too.
			assert.GreaterOrEqual(t, first.Leaderless.P50, milliseconds(2*delay), name)
			assert.GreaterOrEqual(t, first.Transfer.P50, first.Leaderless.P50, name)
			again, err := library(t.Context(), Task{size, 5, 20, 1})
			require.NoError(t, err, name)
			assert.Equal(t, first, again, name)
		}
	}
}

func TestAGroupThatNobodyLeadsIsAnError(t *testing.T) {
	alone := func(w *virtual.World[ours.Message], n, _ int) []virtual.Member[ours.Message] {
		w.Loss = 1
		return ours.Default(beat).Found(w, n, virtual.Nobody)
	}
	_, err := timesOf(t.Context(), alone, Task{Members: 3, Starts: 1})
	require.ErrorContains(t, err, "nothing came of it")
}

func TestARunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, task := range []Task{{3, 1, 0, 1}, {3, 0, 1, 1}} {
		_, err := Ours(ctx, task)
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestALeaderIsKnownByItselfToo(t *testing.T) {
	g := group[string]{leaders: []int{1, virtual.Nobody, 1}}
	assert.Equal(t, virtual.Nobody, g.leader(2))
	assert.Zero(t, g.led)
	g.world.Until(time.Second)
	g.Knows(1, 7, 1)
	assert.Equal(t, time.Second, g.led)
	g.world.Until(time.Minute)
	assert.Equal(t, 1, g.leader(3))
	g.Knows(0, 7, 0)
	assert.Equal(t, 0, g.leader(1))
	assert.Equal(t, 1, g.leader(2))
	assert.Equal(t, virtual.Nobody, g.leader(3))
	assert.Equal(t, time.Second, g.led, "which is not forgotten")
}

// BenchmarkTransfers is what the processor needs for twenty transfers.
func BenchmarkTransfers(b *testing.B) {
	for name, library := range libraries {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := library(b.Context(), Task{Members: 3, Transfers: 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
