package groups

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/measure"
)

var starts = map[string]func([]string) (subject, error){"ours": startOurs, "peer": startPeer}

func TestEveryRepetitionTellsAllFigures(t *testing.T) {
	for side, start := range starts {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := measureOne(t.Context(), size{groups: 12, idle: time.Second}, groupNames(12), start)
				require.NoError(t, err)
				var names []string
				for _, v := range got {
					names = append(names, v.name+" "+v.unit)
				}
				assert.Equal(t, []string{
					"idle CPU s/s", "a host dies: until all groups have leaders s",
					"a host dies: until all groups have leaders CPU s", "heap and stacks of an idle group at one host bytes",
				}, names)
			})
		})
	}
}

func TestADeadHostLeadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := startOurs(groupNames(9))
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

func TestADeadHostLeadsNothingOfThePeersEither(t *testing.T) {
	s, err := startPeer(groupNames(9))
	require.NoError(t, err)
	p := s.(*peer)
	_, err = p.settle(t.Context())
	require.NoError(t, err)
	require.NoError(t, p.silence())
	took, err := p.settle(t.Context())
	require.NoError(t, err)
	assert.Positive(t, took)
	for _, group := range p.groups {
		assert.NotEqual(t, uint64(3), group[0].Lead)
	}
}

// BenchmarkIdle is what ten heartbeats of a thousand idle groups cost, of CPU: see CPU-s/s.
func BenchmarkIdle(b *testing.B) {
	for side, start := range starts {
		b.Run(side, func(b *testing.B) {
			s, err := start(groupNames(1000))
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
