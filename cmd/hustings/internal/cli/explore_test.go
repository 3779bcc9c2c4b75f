package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
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

// Scripts look at the number of violations.
func TestASearchReportsItsViolation(t *testing.T) {
	r := explore.Result{States: 3, Transitions: 4, Steps: 5, Depth: 6, Stopped: "it was stopped", Memory: 7, Violation: &explore.Violation{
		Invariant: invariant.Converges, What: "nobody leads", Path: make([]explore.Step, 2),
	}}
	s := search{bounds: map[string]any{"members": 8}}
	text, err := json.Marshal(s.report(&r, 2*time.Second))
	require.NoError(t, err)
	assert.JSONEq(t, fmt.Sprintf(`{"states":3,"transitions":4,"steps":5,"depth":6,"complete":false,"stopped":"it was stopped","violations":1,"violation":%q,
		"path":[%q,%q],"states_per_second":1.5,"transitions_per_second":2,"steps_per_second":2.5,"seconds":2,"peak_memory_bytes":7,
		"bounds":{"members":8}}`, r.Violation.Error(), explore.Step{}, explore.Step{}), string(text))
}

// bounded are the flags of explore on a command line, and the options of their search.
func bounded(t *testing.T, line string) (*exploreFlags, explore.Options) {
	t.Helper()
	f := new(exploreFlags)
	require.NoError(t, f.command().ParseFlags(strings.Fields(line)))
	require.NoError(t, f.check())
	return f, f.options
}

func TestOnlyTheFeaturesThatAreNamedAreExplored(t *testing.T) {
	nothing := explore.Bounds{Members: 3, Terms: 1, Beats: 1, Entries: 1, NoPreVote: true, NoCrash: true, NoTransfer: true, NoHints: true}
	for feature, add := range map[string]func(*explore.Bounds){
		"pre-vote":              func(b *explore.Bounds) { b.NoPreVote = false },
		"crashes":               func(b *explore.Bounds) { b.NoCrash = false },
		"transfers":             func(b *explore.Bounds) { b.NoTransfer = false },
		"hints":                 func(b *explore.Bounds) { b.NoHints = false },
		"transfers,withdrawals": func(b *explore.Bounds) { b.NoTransfer, b.Withdrawals = false, true },
		"transfers,pauses":      func(b *explore.Bounds) { b.NoTransfer, b.Pauses = false, true },
		"ability":               func(b *explore.Bounds) { b.Ability = true },
		"leases":                func(b *explore.Bounds) { b.Leases = true },
	} {
		want := nothing
		add(&want)
		_, options := bounded(t, "--features "+feature)
		assert.Equal(t, want, options.Bounds, feature)
	}
	_, options := bounded(t, "")
	assert.Equal(t, explore.Bounds{Members: 3, Terms: 1, Beats: 1, Entries: 1}, options.Bounds)
}

func TestMemoryIsGivenInMegabytes(t *testing.T) {
	_, options := bounded(t, "--memory 3")
	assert.EqualValues(t, 3*1024*1024, options.MaxMemory)
}

// Whoever reads a report later sees what was explored.
func TestAReportNamesTheBoundsOfItsSearch(t *testing.T) {
	f, _ := bounded(t, "--members 2 --terms 3 --rounds 4 --ledger 5 --features leases --lag 1 --leak 2 --in-flight 9")
	want := map[string]any{"members": 2, "terms": 3, "rounds": 4, "ledger": 5, "features": []string{"leases"}, "lag": 1, "leak": 2}
	assert.Equal(t, want, f.bounds())
	f, _ = bounded(t, "--live --members 2 --terms 3 --rounds 4 --ledger 5 --features crashes --leak 6 --in-flight 9 --drops 2 --duplicates 1 --restarts 3 --inabilities 5")
	want = map[string]any{
		"members": 2, "terms": 3, "rounds": 4, "ledger": 5, "features": []string{"crashes"}, "lag": 0, "leak": 6,
		"in_flight": 9, "drops": 2, "duplicates": 1, "restarts": 3, "inabilities": 5,
	}
	assert.Equal(t, want, f.bounds())
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
	for _, flag := range []string{"--in-flight", "--drops", "--duplicates", "--restarts", "--inabilities"} {
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
		assert.FileExists(t, filepath.Join(f.out, "violation-explored", "picture.html"))
	}
}

func TestWrongBoundsAreNamed(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "explore", "--features", "magic"), `--features has "magic"`)
	assert.Contains(t, fail(t, exitUsage, "explore", "--members", "9"), "Members is 9")
	assert.Contains(t, fail(t, exitUsage, "explore", "--lag", "1"), "Lag is set without Leases")
}
