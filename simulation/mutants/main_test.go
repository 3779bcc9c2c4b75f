package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAListHasAMutantALine(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"--list"}, &out, io.Discard))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, len(handwritten))
	for i, m := range handwritten {
		assert.Equal(t, m.Name, strings.Fields(lines[i])[0])
	}
	out.Reset()
	require.NoError(t, run(t.Context(), []string{"--list", "--generated", "--sample", "5"}, &out, io.Discard))
	assert.Equal(t, 5, strings.Count(out.String(), "\n"))
}

func TestAnInterruptedHuntReportsItsResults(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	assert.ErrorContains(t, run(ctx, []string{"--json", "--only", "^(quorum-less-one|observer-votes)$"}, &out, io.Discard), "not complete")
	var total map[string]any
	require.NoError(t, json.Unmarshal([]byte(out.String()), &total))
	assert.Equal(t, []string{"caught", "directories", "discarded", "equivalent", "mutants", "survivors", "untried", "verdicts"}, slices.Sorted(maps.Keys(total)))
	assert.Empty(t, total["verdicts"])
}

// The time is looked at before each mutant.
func TestAHuntEndsWhenItsTimeIsUp(t *testing.T) {
	var out, said strings.Builder
	require.NoError(t, run(t.Context(), []string{"--only", "^(quorum-less-one|observer-votes)$", "--within", "1ns"}, &out, &said))
	assert.Contains(t, said.String(), "the time is up: 0 of 2 were looked at")
	assert.Contains(t, out.String(), "0 of 0 mutants were caught")
}

func TestAReportAddsUp(t *testing.T) {
	total := newReport()
	total.add(result{Mutant: "a", Means: "simulator", Noticed: "one vote a term", Seeds: 64})
	total.add(result{Mutant: "b"})
	total.add(result{Mutant: "a/b.go:1:2 it", Means: "tests", Noticed: "TestIt"})
	total.add(result{Mutant: "a/b.go:1:3 it", Discarded: true})
	total.add(result{Mutant: "a/b.go:1:4 it", Equivalent: "nobody asks"})
	total.add(result{Mutant: "a/b.go:1:5 it", Untried: "no database"})
	var out strings.Builder
	require.NoError(t, total.print(&out))
	for _, says := range []string{"NOBODY", "2 of 4 mutants were caught, 1 are equivalent", "1 by the simulator", "1 more do not compile", "a/b.go:1:5 it is not counted, because not everything was tried: no database"} {
		assert.Contains(t, out.String(), says)
	}
	assert.Equal(t, []string{"b"}, total.Survivors)
	require.NoError(t, total.judge(1))
	require.ErrorContains(t, total.judge(0), "1 mutants survived, and 0 may")
	assert.Equal(t, []count{{Mutants: 2, Caught: 1}, {Directory: "a", Mutants: 2, Caught: 1, Equivalent: 1, Discarded: 1}}, total.Directories)
}

func TestAFailureHasAName(t *testing.T) {
	for out, want := range map[string]string{
		"ok  \telector\n--- FAIL: TestTwo (0.1s)\n    --- FAIL: TestTwo/of_them\nFAIL": "TestTwo",
		"WARNING: DATA RACE\n--- FAIL: TestTwo":                                        "a data race",
		"panic: test timed out after 1m0s\n":                                           "a test hangs",
		"panic: index out of range\n":                                                  "the tests break off",
	} {
		assert.Equal(t, want, whatFailed([]byte(out)))
	}
}

// A mutant may break another file of its package. Then it is no program; a package that has no mutant must compile.
func TestAMutantThatDoesNotCompileIsRecognized(t *testing.T) {
	out := []byte("# example.com/m/a/b\na/b/other.go:39:92: invalid argument: index 4 out of bounds [0:4]\n")
	assert.True(t, refused(out, "a/b"))
	assert.True(t, refused(append([]byte("go: downloading example.com/m v1.0.0\n"), out...), "a/b"))
	assert.False(t, refused(out, "a/c"))
	assert.False(t, refused([]byte("go: cannot find module a/b\n"), "a/b"))
}
