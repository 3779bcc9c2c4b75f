// These tests run some worlds of each kind, and report a violation with its story.

package shell_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation/shell"
)

func TestWholeHostsKeepTheInvariants(t *testing.T) {
	keeps(t, shell.Votes, effort.Of[uint64](150, 20))
}

func TestWholeKeepersOfLeasesKeepTheInvariants(t *testing.T) {
	keeps(t, shell.Leases, effort.Of[uint64](300, 40))
}

// keeps runs worlds of a kind. They must violate no invariant; and if there are enough of them, they must meet all
// faults and conditions.
func keeps(t *testing.T, kind shell.Kind, seeds uint64) {
	t.Helper()
	campaign := shell.Campaign{Kind: kind, Count: seeds, Seed: func(i uint64) uint64 { return i }, UntilFailure: true}
	total, err := campaign.Run(t.Context())
	require.NoError(t, err)
	for _, r := range total.Failing {
		t.Errorf("seed %d: %v\n%s", r.Seed, r.Violation, strings.Join(r.Violation.Story, "\n"))
	}
	if !effort.Whole() {
		return
	}
	for _, f := range kind.Faults() {
		assert.Positive(t, total.Struck[f], "the fault %v", f)
	}
	for _, i := range kind.Invariants() {
		assert.Positive(t, total.Checked[i], "the invariant %v", i)
	}
	for _, c := range kind.Conditions() {
		assert.Positive(t, total.Met[c], "the condition %v", c)
	}
}

func TestRunTellsTheStory(t *testing.T) {
	var lines []string
	r := shell.Run(shell.Options{Seed: 7, Tell: func(line string) { lines = append(lines, line) }})
	require.Nil(t, r.Violation)
	told := strings.Join(lines, "\n")
	for _, what := range []string{"its clock runs at", "heartbeat", "process 1 starts", "leader of term", "all faults are over"} {
		assert.Contains(t, told, what)
	}
	assert.Equal(t, uint64(7), r.Seed)
	assert.Positive(t, r.Messages)
	assert.Positive(t, r.Virtual)
}
