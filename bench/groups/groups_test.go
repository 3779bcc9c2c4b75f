package groups

import (
	"fmt"
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

// names are those of so many groups.
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
				assert.Positive(t, c.Seconds)
				assert.NotZero(t, c.Bytes)
			})
		})
	}
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

func TestADeadHostLeadsNothingOfEtcdEither(t *testing.T) {
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

// BenchmarkIdle is what ten heartbeats of a thousand idle groups cost, of CPU: see CPU-s/s.
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
