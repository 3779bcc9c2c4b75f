package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
)

// A state in which more was sent covers another, even one that has not been expanded yet. In a search for shortest
// paths it does not if it is farther from the beginning.
func TestAFartherStateMayCoverANearerOne(t *testing.T) {
	for byDepth, covered := range map[bool]bool{false: true, true: false} {
		states := store{byDepth: byDepth}
		var less, more state
		less.nodes[0], more.nodes[0] = 1, 1
		more.sent.add(7)
		near, _ := states.add(&less, origin{}, 1)
		_, isNew := states.add(&more, origin{}, 2)
		assert.True(t, isNew)
		assert.Equal(t, covered, states.record(near).covered)
		_, isNew = states.add(&less, origin{}, 3)
		assert.False(t, isNew, "it is covered either way")
	}
}

// A state with more messages covers another only if the same members have led: otherwise a member that follows one
// that never led would pass for one that follows a leader.
func TestAStateWithOtherLeadersIsNotCovered(t *testing.T) {
	var states store
	states.victories.add(7)
	var before, after state
	after.sent.add(3)
	after.sent.add(7)
	_, isNew := states.add(&after, origin{}, 1)
	require.True(t, isNew)
	_, isNew = states.add(&before, origin{}, 1)
	assert.True(t, isNew)
	before.sent.add(7)
	_, isNew = states.add(&before, origin{}, 1)
	assert.False(t, isNew)
}

// The violation that is found first may have a longer path than another one.
func TestTheReportedPathIsShortest(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	o := Options{Bounds: Bounds{Members: 3, Terms: 2, Beats: 1, Leases: true, Lag: 2, NoPreVote: true, NoCrash: true, NoTransfer: true, NoHints: true}}
	x := newSearch(o)
	x.begin()
	first, err := x.run(t.Context())
	require.NoError(t, err)
	shortest, err := Explore(t.Context(), o)
	require.NoError(t, err)
	require.NotNil(t, shortest.Violation)
	assert.Equal(t, first.Violation.Invariant, shortest.Violation.Invariant)
	assert.Less(t, len(shortest.Violation.Path), len(first.Violation.Path))
}
