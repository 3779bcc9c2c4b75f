package nodes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation/explore"
	"github.com/hustings/hustings/simulation/invariant"
)

// explored explores everything within bounds.
func explored(t *testing.T, b Bounds) explore.Result {
	t.Helper()
	r, err := Explore(t.Context(), Options{Bounds: b})
	require.NoError(t, err)
	return r
}

// Within these bounds every interleaving was seen, and no beat counted for more than a heartbeat. make explore has
// larger ones.
func TestEveryInterleavingOfSmallWorlds(t *testing.T) {
	effort.Alone(t)
	for name, c := range map[string]struct {
		bounds Bounds
		long   bool
	}{
		"just elected":        {Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 3, Ends: 1}, true},
		"bonds":               {Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 3, Calm: 2}, true},
		"a leader that rests": {Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 3, Calm: 4}, false},
		"a leader restarts":   {Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 3, Calm: 4, LeaderRestarts: 1}, false},
		"a group ends":        {Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 3, Calm: 4, Ends: 1}, true},
		"two groups end, and a beat tells of one": {Bounds{Members: 2, Groups: 2, Terms: 2, Moments: 1, Calm: 4, Ends: 2, Leavings: 1}, false},
		"just elected, both groups of a node end": {Bounds{Members: 2, Groups: 2, Terms: 2, Moments: 2, Ends: 2, Leavings: 1}, true},
		"who should lead changes":                 {Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 2, Calm: 4, Changes: 1}, false},
		"a disk is slow":                          {Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 3, Calm: 4, SlowDisks: 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.long {
				effort.Long(t)
			}
			r := explored(t, c.bounds)
			require.Nil(t, r.Violation)
			assert.True(t, r.Complete)
			assert.Zero(t, r.Frontier)
			t.Logf("%+v", r)
		})
	}
}

// Where nobody is told of departures, a leader counts on members that are gone. The shortest path to that is reported,
// and fresh nodes repeat it.
func TestAViolationIsReportedWithItsPath(t *testing.T) {
	r := explored(t, Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 2, Calm: 4, Ends: 1, silent: true})
	require.NotNil(t, r.Violation)
	assert.Equal(t, invariant.BeatSound, r.Violation.Invariant)
	assert.False(t, r.Complete)
	assert.NotContains(t, r.Violation.What, "did not repeat")
	path := r.Violation.Path
	require.Len(t, path, 4)
	assert.Equal(t, "n0: it takes a turn", path[0].String())
	assert.Contains(t, path[1].String(), "n1: beat ") // its answer is on its way
	assert.Equal(t, "n1: g ends", path[2].String())
	assert.Contains(t, path[3].String(), "n0: beat ")
}

// The same search finds the same.
func TestASearchIsRepeatable(t *testing.T) {
	effort.Alone(t)
	search := func() explore.Result {
		r := explored(t, Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 2, Calm: 4, LeaderRestarts: 1})
		r.Memory = 0
		return r
	}
	once, again := search(), search()
	assert.Equal(t, once, again)
}

func TestAnUnfinishedSearchIsNotComplete(t *testing.T) {
	r, err := Explore(t.Context(), Options{Bounds: Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 3, Calm: 4}, MaxStates: 1000})
	require.NoError(t, err)
	assert.False(t, r.Complete)
	assert.Contains(t, r.Stopped, "limit of states")
	assert.Positive(t, r.Frontier)
}

func TestBoundsThatMakeNoSenseAreNamed(t *testing.T) {
	_, err := Explore(t.Context(), Options{Bounds: Bounds{Members: 4, Groups: 3, Terms: 9, Moments: 7, Calm: 7, Ends: -1, Inabilities: 4, Waits: 4, SlowDisks: 4, Changes: 4, Leavings: 5, LeaderRestarts: 4, FollowerRestarts: 4}})
	for _, says := range []string{"Members is 4", "Groups is 3", "Terms is 9", "Moments is 7", "Calm is 7", "Ends is -1", "Inabilities is 4", "Waits is 4", "SlowDisks is 4", "Changes is 4", "Leavings is 5", "LeaderRestarts is 4", "FollowerRestarts is 4"} {
		assert.ErrorContains(t, err, says)
	}
}
