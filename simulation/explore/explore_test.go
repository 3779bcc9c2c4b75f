package explore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/simulation/explore"
)

// Within these bounds every interleaving was seen, and none broke an election.
func TestEveryInterleavingOfSmallGroups(t *testing.T) {
	for name, b := range map[string]explore.Bounds{
		"two members, a term, everything": {Members: 2, Terms: 1, Ballots: 2, Beats: 1},
		"three members, a term, no pre-vote, crashes": {
			Members: 3, Terms: 1, Ballots: 1, Beats: 1, NoPreVote: true, NoCommands: true, NoHints: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := explore.Explore(t.Context(), b)
			require.Nil(t, r.Violation)
			assert.True(t, r.Complete)
			t.Logf("%+v", r)
		})
	}
}

// A search that is cut short says so.
func TestAnUnfinishedSearchIsNotComplete(t *testing.T) {
	r := explore.Explore(t.Context(), explore.Bounds{Members: 3, Terms: 2, Ballots: 4, Beats: 2, Entries: 1, MaxStates: 1000})
	assert.False(t, r.Complete)
	assert.Nil(t, r.Violation)
}

func BenchmarkExplore(b *testing.B) {
	var transitions uint64
	for range b.N {
		r := explore.Explore(b.Context(), explore.Bounds{Members: 3, Terms: 1, Ballots: 2, Beats: 1, NoCommands: true, NoHints: true, MaxStates: 100_000})
		require.Nil(b, r.Violation)
		transitions += r.Transitions
	}
	b.ReportMetric(float64(transitions)/b.Elapsed().Seconds(), "transitions/s")
}
