package simulation

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A smaller scenario that heals too few could not be read again, so it is none.
func TestASmallerScenarioCanBeReadAgain(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "careless-engine.txt"))
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // it was only read
	s, err := ParseScenario(file)
	require.NoError(t, err)
	x := shrinker{ctx: t.Context(), best: s, invariant: CommittedStays}
	for _, heal := range []struct {
		nodes []int
		good  bool
	}{{[]int{0, 1}, true}, {[]int{0}, false}, {[]int{0, 3}, false}} {
		smaller := s.clone()
		smaller.Heal = heal.nodes
		assert.Equal(t, heal.good, x.try(smaller), "heal %v", heal.nodes)
	}
}
