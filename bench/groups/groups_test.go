package groups

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/hustings/hustings/bench/measure"
)

var founders = map[string]founder{"ours": oursOf, "etcd": etcdOf((*raft.RawNode).Step)}

// names returns the names of a number of groups.
func names(count int) (all []string) {
	for i := range count {
		all = append(all, fmt.Sprint("group ", i))
	}
	return all
}

func TestAHostDiesInEveryRepetition(t *testing.T) {
	for library, found := range founders {
		t.Run(library, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := costOf(t.Context(), Task{12, time.Second}, found)
				require.NoError(t, err)
				// The last heartbeat was up to one interval ago. etcd draws up to as many ticks
				// again; ours takes a slot or two, and is polled every few milliseconds.
				beats := c.Seconds / beat.Seconds()
				assert.GreaterOrEqual(t, beats, float64(detection-1))
				assert.LessOrEqual(t, beats, map[string]float64{"ours": detection + 1, "etcd": 2*detection + 1}[library])
			})
		})
	}
}

// ballast is a library whose groups only hold a number of bytes on each host.
type ballast struct{ held [][]byte }

func ballastOf(bytes int) founder {
	return func(names []string) (subject, error) {
		b := new(ballast)
		for range len(names) * hosts {
			b.held = append(b.held, make([]byte, bytes))
		}
		return b, nil
	}
}

func (b *ballast) settle(context.Context) (time.Duration, error) { return 0, nil }
func (b *ballast) idle(context.Context, time.Duration) error     { return nil }
func (b *ballast) silence() error                                { return nil }
func (b *ballast) stop() error                                   { b.held = nil; return nil }

func TestBytesAreOfOneGroupOnOneHost(t *testing.T) {
	const held = 1 << 14
	c, err := costOf(t.Context(), Task{100, time.Second}, ballastOf(held))
	require.NoError(t, err)
	assert.InEpsilon(t, held, c.Bytes, 0.05, "with the size of a slice")
}

func TestADeadHostLeadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := oursOf(names(9))
		require.NoError(t, err)
		o := s.(*ours)
		defer func() { require.NoError(t, o.stop()) }()
		_, err = o.settle(t.Context())
		require.NoError(t, err)
		led := make(map[string]int)
		for _, el := range o.groups[0] {
			led[el.Status().Leader]++
		}
		assert.Equal(t, map[string]int{"n0": 3, "n1": 3, "n2": 3}, led, "each host leads a third")
		require.NoError(t, o.silence())
		took, err := o.settle(t.Context())
		require.NoError(t, err)
		assert.Positive(t, took)
		for _, el := range o.groups[0] {
			assert.NotEqual(t, "n2", el.Status().Leader)
		}
	})
}

func TestADeadHostOfEtcdLeadsNothing(t *testing.T) {
	s, err := founders["etcd"](names(9))
	require.NoError(t, err)
	l := s.(*loop[*raftpb.Message])
	_, err = l.settle(t.Context())
	require.NoError(t, err)
	led := make(map[uint64]int)
	for _, group := range l.groups {
		led[group[0].Lead]++
	}
	assert.Equal(t, map[uint64]int{1: 3, 2: 3, 3: 3}, led, "each host leads a third")
	require.NoError(t, l.silence())
	took, err := l.settle(t.Context())
	require.NoError(t, err)
	assert.Positive(t, took)
	for _, group := range l.groups {
		assert.NotEqual(t, uint64(3), group[0].Lead)
	}
}

func TestFiguresHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range aspects {
		assert.False(t, seen[a.name], a.name)
		seen[a.name] = true
	}
}

// BenchmarkIdle measures the CPU time of ten heartbeats of a thousand idle groups: see CPU-s/s.
func BenchmarkIdle(b *testing.B) {
	for library, found := range founders {
		b.Run(library, func(b *testing.B) {
			s, err := found(names(1000))
			if err == nil {
				_, err = s.settle(b.Context())
			}
			if err != nil {
				b.Fatal(err)
			}
			used := measure.CPU()
			for b.Loop() {
				if err := s.idle(b.Context(), time.Second); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((measure.CPU()-used).Seconds()/float64(b.N), "CPU-s/s")
			if err := s.stop(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkADeadHost measures groups that are idle, and then lose a host that led a third of them. With
// HUSTINGS_TEST_LONG there are up to 100,000.
func BenchmarkADeadHost(b *testing.B) {
	sizes := []int{1_000, 10_000}
	if os.Getenv("HUSTINGS_TEST_LONG") != "" {
		sizes = append(sizes, 100_000)
	}
	for _, count := range sizes {
		b.Run(fmt.Sprintf("groups=%d", count), func(b *testing.B) {
			var sum Cost
			for b.Loop() {
				c, err := measureTime(b.Context(), names(count), 3*time.Second, oursOf)
				require.NoError(b, err)
				sum.Idle, sum.Seconds, sum.CPU = sum.Idle+c.Idle, sum.Seconds+c.Seconds, sum.CPU+c.CPU
			}
			b.ReportMetric(sum.Idle/float64(b.N), "idle-CPU-s/s")
			b.ReportMetric(sum.Seconds/float64(b.N), "s-until-led")
			b.ReportMetric(sum.CPU/float64(b.N), "CPU-s-until-led")
		})
	}
}
