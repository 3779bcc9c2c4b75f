package simulation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/simulation/invariant"
)

// Without some groups the others get new numbers, and their strikes with them.
func TestAScenarioWithoutSomeGroups(t *testing.T) {
	s, err := ParseScenario(strings.NewReader(`
groups 4
at 1s resign n0 g1
at 2s resign n0 all-groups
at 3s crash n1
at 4s resign n0 g3
at 5s resign n0
expect g1 leader n0 at 9s
`))
	require.NoError(t, err)
	for text, left := range map[string][]int{
		"members 3\ngroups 2\nduration 1m0s\nat 1s resign n0\nat 2s resign n0 all-groups\nat 3s crash n1\nat 4s resign n0 g1\n": {1, 3},
		"members 3\nduration 1m0s\nat 2s resign n0\nat 3s crash n1\nat 5s resign n0\n":                                          {0},
	} {
		smaller := s.withGroups(left)
		assert.Equal(t, text, smaller.String())
		assert.NoError(t, smaller.check())
	}
}

// A smaller scenario that heals too few nodes is refused, because it could not be read again.
func TestASmallerScenarioCanBeReadAgain(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "careless-engine.txt"))
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // it was only read
	s, err := ParseScenario(file)
	require.NoError(t, err)
	x := shrinker{ctx: t.Context(), best: s, invariant: invariant.CommittedStays}
	for _, heal := range []struct {
		nodes []int
		good  bool
	}{{[]int{0, 1}, true}, {[]int{0}, false}, {[]int{0, 3}, false}} {
		smaller := s.clone()
		smaller.Heal = heal.nodes
		assert.Equal(t, heal.good, x.try(smaller), "heal %v", heal.nodes)
	}
}
