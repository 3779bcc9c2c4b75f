package churn

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/adapter/ours"
	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/virtual"
)

var libraries = map[string]func(context.Context, Task) (Times, error){"ours": Ours, "etcd": Etcd}

func TestAGroupOfAnySizeStartsAndHandsOver(t *testing.T) {
	for name, library := range libraries {
		for _, size := range []int{3, 5, 9, 31} {
			first, err := library(t.Context(), Task{size, 5, 20, 1})
			require.NoError(t, err, name)
			assert.Positive(t, first.Start.P50, name)
			// A message of the leader and its answer have been on the way.
			assert.GreaterOrEqual(t, first.Leaderless.P50, milliseconds(2*delay), name)
			assert.GreaterOrEqual(t, first.Transfer.P50, first.Leaderless.P50, name)
			again, err := library(t.Context(), Task{size, 5, 20, 1})
			require.NoError(t, err, name)
			assert.Equal(t, first, again, name)
		}
	}
}

// From when the others learn of it, a replacement takes 1.5 round trips for a pre-vote that waits
// for the dead leader's veto, one for the votes and half of one for the news, and one save each
// of the candidate and a voter.
func TestALeaderWhoseConnectionsBreakIsReplacedInThreeRoundTripsAndTwoSaves(t *testing.T) {
	onNetworks(t, func(t *testing.T, a Alone, d, s time.Duration) {
		t.Helper()
		expected := milliseconds(d + 3*2*d + 2*s)
		assert.Equal(t, Quantiles{expected, expected, expected}, a.Crash)
	})
}

func TestAResignationLeavesNoLeaderForARoundTripAndASave(t *testing.T) {
	onNetworks(t, func(t *testing.T, a Alone, d, s time.Duration) {
		t.Helper()
		expected := milliseconds(2*d + s)
		assert.Equal(t, Quantiles{expected, expected, expected}, a.Leaderless)
		// Before, the successor is asked whether it is there, while writes go on. If a beat
		// falls between the question and the answer another one is asked, with its next
		// sign of life.
		assert.InDelta(t, milliseconds(4*d+s), a.Resignation.P50, 1e-9)
		assert.LessOrEqual(t, a.Resignation.Max, milliseconds(4*d+s))
	})
}

// onNetworks checks the operations that only our library has, in groups of several sizes, with
// messages that take d one way and saves that take s.
func onNetworks(t *testing.T, check func(t *testing.T, a Alone, d, s time.Duration)) {
	t.Helper()
	for _, network := range []struct{ d, s time.Duration }{{delay, save}, {delay, 0}, {time.Millisecond, 5 * time.Millisecond}, {10 * time.Millisecond, time.Millisecond}} {
		for _, size := range []int{3, 5, 9} {
			found := func(w *virtual.World[ours.Message], n, behind int) []virtual.Member[ours.Message] {
				w.Delay, w.Save = network.d, network.s
				return oursFound()(w, n, behind)
			}
			a, err := aloneOf(t.Context(), found, Task{Members: size, Transfers: 10, Seed: 1})
			require.NoError(t, err)
			check(t, a, network.d, network.s)
		}
	}
}

func TestAGroupWithoutALeaderIsAnError(t *testing.T) {
	alone := func(w *virtual.World[ours.Message], n, _ int) []virtual.Member[ours.Message] {
		w.Loss = 1
		return ours.Default(beat).Found(w, n, virtual.Nobody)
	}
	_, err := timesOf(t.Context(), alone, Task{Members: 3, Starts: 1})
	require.ErrorContains(t, err, "it was not over")
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
	assert.Equal(t, time.Second, g.led, "the first time is kept")
}

func TestFiguresHaveNamesOfTheirOwn(t *testing.T) {
	var all []figure.Figure
	for _, at := range []string{"here", "there"} {
		rows, own := make([]measure.Row[Times], 1), make([]measure.Row[Alone], 1)
		all = slices.Concat(all, compare(at, rows, starts), compare(at, rows, transfers), compare(at, own, alone))
	}
	seen := map[string]bool{}
	for i := range all {
		assert.False(t, seen[all[i].Name], all[i].Name)
		seen[all[i].Name] = true
	}
	assert.Len(t, seen, 24)
}

// BenchmarkTransfers measures twenty transfers.
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
