package simulation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation"
)

// careless finds a seed in which a careless engine loses what was committed.
func careless(t *testing.T) simulation.Options {
	t.Helper()
	for seed := range uint64(2000) {
		o := simulation.Options{Seed: seed, Members: 5, Careless: simulation.CarelessAlways, Duration: 20 * time.Second}
		if run(t, o).Violation != nil {
			return o
		}
	}
	require.Fail(t, "no careless engine was caught")
	return simulation.Options{}
}

// A shrunk scenario is small, and breaks the same invariant.
func TestShrinking(t *testing.T) {
	original, r, err := simulation.Record(careless(t))
	require.NoError(t, err)
	require.NotNil(t, r.Violation)
	small := original.Shrink(t.Context(), nil)
	once, err := small.Run()
	require.NoError(t, err)
	again, err := small.Run()
	require.NoError(t, err)
	require.NotNil(t, once.Violation, small)
	assert.Equal(t, r.Violation.Invariant, once.Violation.Invariant)
	assert.Equal(t, once, again, "it is the same whenever it is played")
	assert.Empty(t, once.Unmet, "it expects what it breaks")
	assert.Less(t, len(small.Strikes)+small.Choices(), 30, small)
	assert.LessOrEqual(t, small.Members, 5)
	t.Logf("from %d strikes and %d choices:\n%v", len(original.Strikes), original.Choices(), small)

	parsed, err := simulation.ParseScenario(strings.NewReader(small.String()))
	require.NoError(t, err)
	played, err := parsed.Run()
	require.NoError(t, err)
	assert.Equal(t, once.Digest, played.Digest, "and its text is all of it")
}

// Groups that do not matter are removed.
func TestShrinkingRemovesGroups(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	for seed := range uint64(2000) {
		o := simulation.Options{Seed: seed, Members: 3, Groups: 4, Careless: simulation.CarelessAlways, Duration: 10 * time.Second}
		s, r, err := simulation.Record(o)
		require.NoError(t, err)
		if r.Violation == nil {
			continue
		}
		small := s.Shrink(t.Context(), nil)
		assert.Less(t, small.Groups, 3, small)
		return
	}
	assert.Fail(t, "no careless engine was caught")
}

// A seed and its record are the same run, to the last step.
func TestARecordIsTheRun(t *testing.T) {
	effort.Alone(t)
	for seed := range effort.Of[uint64](40, 10) {
		o := simulation.Options{
			Seed: seed, Members: 3 + int(seed%3), Leases: seed%2 == 0, Groups: 1 + int(seed%5), Duration: 10 * time.Second,
			Beats: seed%2 == 1, Uneven: int(seed % 11),
		}
		if seed%4 == 0 {
			o.Branches = []simulation.Branch{{At: 3 * time.Second, Seed: 99}}
		}
		assertWrittenDown(t, o)
	}
}

// assertWrittenDown demands that a run and its text are the same.
func assertWrittenDown(t *testing.T, o simulation.Options) {
	t.Helper()
	played := run(t, o)
	s, recorded, err := simulation.Record(o)
	require.NoError(t, err)
	assert.Equal(t, played.Digest, recorded.Digest, "recording changes nothing")
	parsed, err := simulation.ParseScenario(strings.NewReader(s.String()))
	require.NoError(t, err)
	assert.Equal(t, s.String(), parsed.String())
	again, err := parsed.Run()
	require.NoError(t, err)
	assert.Equal(t, played.Digest, again.Digest, "seed %d", o.Seed)
	assert.Equal(t, played.Elections, again.Elections)
}

func ExampleScenario() {
	s, err := simulation.ParseScenario(strings.NewReader(`
members 3
duration 2s
at 1s crash n2 for 10s
expect leader n2 in term 1 at 900ms
expect leader n0 in term 2 at 2s
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := s.Run()
	fmt.Println(r.Elections, "elections", r.Unmet, err)
	// Output: 2 elections [] <nil>
}
