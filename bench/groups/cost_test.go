package groups

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/measure"
)

var founders = map[string]Founder{"ours": oursOf, "etcd": etcdOf((*raft.RawNode).Step), "hashicorp": hashicorpOf}

func TestAHostDiesInEveryRepetition(t *testing.T) {
	// The last heartbeat was up to one interval ago. etcd draws up to as many ticks again; ours
	// takes a slot or two. hashicorp/raft looks every 1 to 2 T, and splits votes.
	latest := map[string]float64{"ours": 1.1, "etcd": 2.1, "hashicorp": 10}
	for library, found := range founders {
		t.Run(library, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := CostOf(t.Context(), Task{12, 1, time.Second}, found)
				require.NoError(t, err)
				assert.False(t, c.Late)
				assert.GreaterOrEqual(t, c.Mean, 0.9)
				assert.GreaterOrEqual(t, c.P99, c.Mean)
				assert.GreaterOrEqual(t, c.Last, c.P99)
				assert.LessOrEqual(t, c.Last, latest[library])
				assert.GreaterOrEqual(t, c.Sent, 8.0, "a vote for each group, and its answer")
				assert.GreaterOrEqual(t, c.Records, 8.0, "each group has a vote of both survivors")
				assert.GreaterOrEqual(t, c.Records, c.Syncs)
				assert.Positive(t, c.Syncs)
				assert.GreaterOrEqual(t, c.Load, 1.0)
				assert.Positive(t, c.Messages)
			})
		})
	}
}

func TestIdleGroupsOfOursSendBeatsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		few, err := IdleCostOf(t.Context(), Task{3, 1, time.Second}, oursOf)
		require.NoError(t, err)
		more, err := IdleCostOf(t.Context(), Task{30, 1, time.Second}, oursOf)
		require.NoError(t, err)
		assert.InDelta(t, few.Messages, few.Beats, 0)
		assert.InEpsilon(t, few.Messages, more.Messages, 0.2, "however many there are")
		assert.Zero(t, few.Last, "no host has died")
	})
}

func TestADeadHostLeadsNothing(t *testing.T) {
	for library, found := range founders {
		t.Run(library, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := found(t.Context(), Names(9))
				require.NoError(t, err)
				defer func() { require.NoError(t, s.Stop()) }()
				require.NoError(t, s.Settle(t.Context()))
				for g := range 9 {
					leader, _ := s.Seen().leader(g)
					assert.Equal(t, Host(g), leader, "each host leads a third")
				}
				require.NoError(t, s.Silence())
				require.NoError(t, s.Recover(t.Context()))
				for g := range 9 {
					leader, _ := s.Seen().leader(g)
					assert.Contains(t, []int{0, 1}, leader)
				}
				assert.Len(t, s.Seen().recovered(), 3, "the others keep their leaders")
			})
		})
	}
}

// ballast is a library whose groups only hold a number of bytes on each host.
type ballast struct {
	held  [][]byte
	seen  *Seen
	hangs bool
}

func ballastOf(bytes int, hangs bool) Founder {
	return func(_ context.Context, names []string) (Subject, error) {
		b := &ballast{seen: NewSeen(len(names)), hangs: hangs}
		for range len(names) * Hosts {
			b.held = append(b.held, make([]byte, bytes))
		}
		return b, nil
	}
}

func (b *ballast) Settle(ctx context.Context) error {
	if b.hangs {
		<-ctx.Done()
	}
	return ctx.Err()
}
func (b *ballast) Idle(context.Context, time.Duration) error { return nil }
func (b *ballast) Silence() error                            { return nil }
func (b *ballast) Recover(context.Context) error             { return nil }
func (b *ballast) Seen() *Seen                               { return b.seen }
func (b *ballast) Stop() error                               { b.held = nil; return nil }

func TestBytesAreOfOneGroupOnOneHost(t *testing.T) {
	const held = 1 << 14
	c, err := CostOf(t.Context(), Task{100, 1, time.Second}, ballastOf(held, false))
	require.NoError(t, err)
	assert.InEpsilon(t, held, c.Bytes, 0.05, "with the size of a slice")
}

func TestALibraryThatTakesTooLongIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := CostOf(t.Context(), Task{1, 1, time.Second}, ballastOf(1, true))
		require.NoError(t, err)
		assert.Equal(t, Cost{Late: true}, c)
		ctx, cancel := context.WithTimeout(t.Context(), patience/2)
		defer cancel()
		_, err = CostOf(ctx, Task{1, 1, time.Second}, ballastOf(1, true))
		require.ErrorIs(t, err, context.DeadlineExceeded, "a run that is over says nothing about the library")
	})
}

func TestTimesAreInDetectionTimes(t *testing.T) {
	mean, p99, last := outcome([]float64{3, 1, 2})
	assert.InDelta(t, 2/Detection.Seconds(), mean, 1e-9)
	assert.InDelta(t, 3/Detection.Seconds(), p99, 1e-9)
	assert.InDelta(t, 3/Detection.Seconds(), last, 1e-9)
}

// BenchmarkIdle measures the CPU time of ten heartbeats of a thousand idle groups: see CPU-s/s.
func BenchmarkIdle(b *testing.B) {
	for _, library := range []string{"ours", "etcd"} {
		b.Run(library, func(b *testing.B) {
			s, err := build(b.Context(), Names(1000), founders[library])
			require.NoError(b, err)
			used := measure.CPU()
			for b.Loop() {
				require.NoError(b, s.Idle(b.Context(), time.Second))
			}
			b.ReportMetric((measure.CPU()-used).Seconds()/float64(b.N), "CPU-s/s")
			require.NoError(b, s.Stop())
		})
	}
}
