package events

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/adapter/ours"
	"github.com/hustings/hustings/bench/virtual"
)

func TestAGroupGetsALeaderAfterEveryCrash(t *testing.T) {
	outlives(t, ours.Default(detection).Found)
	defer etcd.Restore()
	outlives(t, etcd.Found((*raft.RawNode).Step, detection/etcd.ElectionTicks))
}

// outlives runs a group through ten crashes.
func outlives[M any](tb testing.TB, found founder[M]) {
	tb.Helper()
	s := newSimulation(found)
	require.NoError(tb, s.run(tb.Context(), 10))
	assert.GreaterOrEqual(tb, s.term, uint64(10), "each crash has a term")
	assert.Equal(tb, 10*(life+absence), s.world.Now())
	for i := range members {
		assert.False(tb, s.world.Dead(i))
	}
}

func TestAGroupWithoutALeaderIsAnError(t *testing.T) {
	deaf := func(w *virtual.World[ours.Message], n, _ int) []virtual.Member[ours.Message] {
		w.Loss = 1
		return ours.Default(detection).Found(w, n, virtual.Nobody)
	}
	require.ErrorContains(t, newSimulation(deaf).run(t.Context(), 1), "there is no leader")
}

func TestARunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Ours(ctx, Task{1})
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkOurs(b *testing.B) {
	benchmark(b, ours.Default(detection).Found)
}

func BenchmarkEtcd(b *testing.B) {
	defer etcd.Restore()
	benchmark(b, etcd.Found((*raft.RawNode).Step, detection/etcd.ElectionTicks))
}

// benchmark reports events; an operation is a crash with its failover.
func benchmark[M any](b *testing.B, found founder[M]) {
	b.Helper()
	s := newSimulation(found)
	if err := s.run(b.Context(), b.N); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.world.Events)/b.Elapsed().Seconds(), "events/s")
}
