package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation/explore"
	"github.com/hustings/hustings/simulation/invariant"
)

func TestExploreSaysThatItIsComplete(t *testing.T) {
	lines := succeed(t, "explore", "--members", "2", "--ledger", "0")
	assert.Contains(t, lines[len(lines)-1], "complete: ")
	assert.NotContains(t, lines[len(lines)-1], "NOT")
	code, said, wrong := run("explore", "--members", "2", "--terms", "2", "--max-states", "100")
	assert.Equal(t, exitUnfinished, code)
	assert.Contains(t, said, "NOT complete: it has reached the limit of states")
	assert.Equal(t, "hustings: not complete: it has reached the limit of states\n", wrong)
}

func TestExplorePrintsOneJSONObject(t *testing.T) {
	lines := succeed(t, "explore", "--members", "2", "--terms", "2", "--features", "crashes", "--json")
	require.Len(t, lines, 1)
	var report map[string]any // not exploreReport, to check the names that scripts use
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &report))
	assert.Equal(t, true, report["complete"])
	assert.Zero(t, report["violations"])
	for _, name := range []string{"states", "transitions", "depth", "states_per_second", "transitions_per_second", "peak_memory_bytes"} {
		assert.Greater(t, report[name], 0.0, name)
	}
	bounds, is := report["bounds"].(map[string]any)
	require.True(t, is)
	assert.Equal(t, []any{"crashes"}, bounds["features"])
}

// A search that continues from a checkpoint reports its own rates, without the states of the
// earlier one.
func TestRatesAreThoseOfThisRun(t *testing.T) {
	r := explore.Result{States: 1500, Transitions: 2500, Steps: 3500, Before: explore.Counts{States: 1000, Transitions: 2000, Steps: 3000}}
	report := new(search).report(&r, 10*time.Second)
	assert.Equal(t, []float64{50, 50, 50}, []float64{report.StatesPer, report.TransitionsPer, report.StepsPer})
}

func TestExploreChecksThatALeaderCanBeElected(t *testing.T) {
	effort.Alone(t)
	lines := succeed(t, "explore", "--live", "--members", "2", "--terms", fewer("2", "1"), "--ledger", "0", "--features", "pre-vote")
	assert.Contains(t, lines[len(lines)-1], "a leader can be elected")
	assert.Contains(t, fail(t, exitUsage, "explore", "--live", "--in-flight", "99"), "InFlight is 99")
	assert.Contains(t, fail(t, exitUsage, "explore", "--live", "--features", "leases"), "--features has leases")
	for _, flag := range []string{"--workers", "--lag", "--checkpoint"} {
		assert.Contains(t, fail(t, exitUsage, "explore", "--live", flag, "1"), flag+" does not go with --live")
	}
	for _, flag := range []string{"--in-flight", "--drops", "--duplicates", "--restarts"} {
		assert.Contains(t, fail(t, exitUsage, "explore", flag, "1"), flag+" needs --live")
	}
}

// A clock that falls behind by more than the margin makes two leases. The command prints the
// path to this, and the files that it writes can be replayed.
func TestExploreShowsThePathToAViolation(t *testing.T) {
	effort.Alone(t)
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

// Only a search that has tried the path with plain machines says how that went.
func TestAViolationWithoutAScriptSaysWhy(t *testing.T) {
	v := &explore.Violation{Invariant: invariant.Converges, What: "from here no leader can come about any more"}
	for _, c := range []struct {
		live bool
		says string
	}{{false, "plain machines could not be led along this path"}, {true, "the path was not tried with plain machines"}} {
		f := exploreFlags{live: c.live, out: t.TempDir()}
		f.options.Members = 2
		require.ErrorContains(t, f.tellViolation(v), c.says)
	}
}

func TestWrongBoundsAreNamed(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "explore", "--features", "magic"), `--features has "magic"`)
	assert.Contains(t, fail(t, exitUsage, "explore", "--members", "9"), "Members is 9")
	assert.Contains(t, fail(t, exitUsage, "explore", "--lag", "1"), "Lag is set without Leases")
}
