package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/explore"
)

func TestExploreSaysThatItIsComplete(t *testing.T) {
	lines := succeed(t, "explore", "--members", "2", "--ledger", "0")
	assert.Contains(t, lines[len(lines)-1], "complete: ")
	assert.NotContains(t, lines[len(lines)-1], "NOT")
	lines = succeed(t, "explore", "--terms", "2", "--max-states", "500")
	assert.Contains(t, lines[len(lines)-1], "NOT complete: it has come to as many states")
}

func TestWhatWasExploredIsOneJSONObject(t *testing.T) {
	lines := succeed(t, "explore", "--members", "2", "--terms", "2", "--features", "crashes", "--json")
	require.Len(t, lines, 1)
	var report exploreReport
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &report))
	assert.True(t, report.Complete)
	assert.Zero(t, report.Violations)
	assert.Positive(t, report.States)
	assert.Positive(t, report.TransitionsPer)
	assert.Equal(t, []any{"crashes"}, report.Bounds["features"])
}

func TestExploreAsksWhetherALeaderCanComeAbout(t *testing.T) {
	lines := succeed(t, "explore", "--live", "--members", "2", "--terms", "2", "--ledger", "0")
	assert.Contains(t, lines[len(lines)-1], "a leader can come about")
	assert.Contains(t, fail(t, exitUsage, "explore", "--live", "--in-flight", "99"), "InFlight is 99")
	assert.Contains(t, fail(t, exitFailed, "explore", "--live", "--features", "leases"), "Leases is set")
}

// A clock that falls behind by more than the margin makes two leases; that is told with
// the way there, and whoever reads what was written can see it again.
func TestExploreTellsTheWayToAViolation(t *testing.T) {
	out := t.TempDir()
	printed, wrong := failing(t, "explore", "--terms", "2", "--ledger", "0", "--features", "leases", "--lag", "2", "--out", out)
	assert.Contains(t, printed, "which the clock of n")
	assert.Contains(t, wrong, "two members hold a lease at once")
	assert.FileExists(t, filepath.Join(out, "violation-explored", "picture.html"))
	scenario := filepath.Join(out, "violation-explored", "scenario.txt")
	assert.Contains(t, wrong, "hustings replay "+scenario)
	lines := succeed(t, "replay", scenario)
	assert.Contains(t, lines[len(lines)-1], "as expected: one lease")
}

// Whether plain machines come to a violation is only said if it was tried.
func TestAViolationWithoutAScriptSaysWhy(t *testing.T) {
	v := &explore.Violation{Invariant: simulation.Converges, What: "from here no leader can come about any more"}
	for _, c := range []struct {
		live bool
		says string
	}{{false, "plain machines could not be led there"}, {true, "it was not tried with plain machines"}} {
		f := exploreFlags{live: c.live, out: t.TempDir()}
		f.options.Members = 2
		require.ErrorContains(t, f.tellViolation(v), c.says)
	}
}

func TestWrongBoundsAreNamed(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "explore", "--features", "magic"), `--features has "magic"`)
	assert.Contains(t, fail(t, exitUsage, "explore", "--members", "9"), "Members is 9")
	assert.Contains(t, fail(t, exitUsage, "explore", "--lag", "1"), "Leases is not")
}
