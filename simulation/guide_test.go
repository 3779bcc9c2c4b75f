package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
)

// five has five members, in every other seed with leases.
func five(seed uint64) Options {
	return Options{Seed: seed, Members: 5, Leases: seed%2 == 1, Duration: 20 * time.Second}
}

// A guided search is the same search on any number of cores, and reaches more than a
// blind one of as many runs.
func TestAGuidedSearchReachesMore(t *testing.T) {
	search := func(guided bool, workers int) *Summary {
		c := Campaign{Count: effort.Of[uint64](640, 160), Guided: guided, Workers: workers, Options: five, counting: true}
		s, err := c.Run(t.Context())
		require.NoError(t, err)
		require.Empty(t, s.Failing)
		return s
	}
	blind, guided := search(false, 2), search(true, 2)
	assert.Equal(t, guided, search(true, 1))
	if effort.Whole() {
		assert.Equal(t, blind, search(false, 3))
	}
	assert.Greater(t, guided.States, blind.States*5/4)
	t.Logf("%d runs: blind %d states, guided %d", blind.Seeds, blind.States, guided.States)
}
