package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/report"
)

// section measures only its own name, and whether the run is quick (1) or long (2).
func section(name string, err error) figure.Section {
	return figure.Section{Name: name, Title: name, Measure: func(_ context.Context, p figure.Plan) ([]figure.Figure, error) {
		p.Progress("it", 0.5)
		hurry := 0.0
		if p.Quick {
			hurry = 1
		}
		if p.Long {
			hurry = 2
		}
		return []figure.Figure{{Section: name, Name: name, Unit: "x", Ours: hurry}}, err
	}}
}

func runIn(ctx context.Context, t *testing.T, sections []figure.Section, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	err = run(ctx, arguments, sections, &out, &errs)
	return out.String(), errs.String(), err
}

func TestAWholeRunIsKept(t *testing.T) {
	out, errs, err := runIn(t.Context(), t, []figure.Section{section("a", nil), section("b", nil)})
	require.NoError(t, err)
	assert.Contains(t, out, "a: a")
	assert.Equal(t, " 25 %  a: it\n 75 %  b: it\n", errs)
	assert.FileExists(t, "results/figures.json")
	assert.FileExists(t, "results/index.html")
}

func TestAPartialRunIsNotKept(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx       context.Context
		arguments []string
	}{{t.Context(), []string{"--quick"}}, {t.Context(), []string{"--only", "a"}}, {over, nil}} {
		_, _, err := runIn(c.ctx, t, []figure.Section{section("a", nil)}, c.arguments...)
		require.NoError(t, err)
		assert.NoFileExists(t, "results/figures.json")
	}
}

func TestSectionsAreKeptBesideTheOthersOfTheLastRun(t *testing.T) {
	before, after := section("a", nil), section("a", nil)
	before.Title, after.Title = "an old title", "a new title"
	b := section("b", nil)
	_, _, err := runIn(t.Context(), t, []figure.Section{before, b})
	require.NoError(t, err)
	var out, errs bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"--only", "a", "--keep"}, []figure.Section{after, b}, &out, &errs))
	f, err := os.Open(figures)
	require.NoError(t, err)
	kept, err := report.Read(f)
	require.NoError(t, errors.Join(err, f.Close()))
	var titles []string
	for _, s := range kept.Sections {
		titles = append(titles, s.Title)
	}
	assert.Equal(t, []string{"a new title", "b"}, titles, "in the program's order")
	page, err := os.ReadFile("results/index.html")
	require.NoError(t, err)
	assert.Contains(t, string(page), "a new title")
	assert.NotContains(t, string(page), "an old title")
}

func TestWhatCannotBeKeptIsRefused(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		expected  string
	}{
		{[]string{"--keep"}, "--keep needs --only"},
		{[]string{"--keep", "--only", "a", "--quick"}, "--quick"},
		{[]string{"--keep", "--only", "a"}, "results/figures.json"},
	} {
		_, _, err := runIn(t.Context(), t, []figure.Section{section("a", nil)}, c.arguments...)
		require.ErrorContains(t, err, c.expected)
		assert.NoDirExists(t, "results")
	}
}

func TestSectionsOfAQuickRunAreQuickAndOfALongRunLong(t *testing.T) {
	for flag, expected := range map[string]float64{"--quick": 1, "--long": 2, "--json": 0} {
		out, _, err := runIn(t.Context(), t, []figure.Section{section("a", nil)}, flag, "--json")
		require.NoError(t, err)
		var figures []figure.Figure
		require.NoError(t, json.Unmarshal([]byte(out), &figures))
		assert.InDelta(t, expected, figures[0].Ours, 0, flag)
	}
	_, _, err := runIn(t.Context(), t, []figure.Section{section("a", nil)}, "--quick", "--long")
	require.ErrorContains(t, err, "exclude each other")
}

func TestASectionThatFailsDoesNotKeepOthersFromBeingMeasured(t *testing.T) {
	out, _, err := runIn(t.Context(), t, []figure.Section{section("a", assert.AnError), section("b", nil)})
	require.ErrorIs(t, err, assert.AnError)
	require.ErrorContains(t, err, "section a")
	assert.Contains(t, out, "b: b")
	assert.NoFileExists(t, "results/figures.json")
}

func TestAnInterruptedRunReportsItsFigures(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	first := section("a", nil)
	measureIt := first.Measure
	first.Measure = func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) {
		cancel()
		return measureIt(ctx, p)
	}
	out, _, err := runIn(ctx, t, []figure.Section{first, section("b", nil)})
	require.NoError(t, err)
	assert.Contains(t, out, "a: a")
	assert.NotContains(t, out, "b: b")
}

func TestOnlyTheNamedSectionsAreMeasured(t *testing.T) {
	sections := []figure.Section{section("a", nil), section("b", nil), section("c", nil)}
	chosen, err := choose(sections, "c,a")
	require.NoError(t, err)
	assert.Equal(t, "a,c", names(chosen))
	_, err = choose(sections, "a,d")
	require.ErrorContains(t, err, `there is no section "d"; the sections are a,b,c`)
}

func TestTheBarShowsHowMuchIsDone(t *testing.T) {
	var out bytes.Buffer
	bar := &progress{out: &out, terminal: true}
	bar.show("a", 0.5)
	bar.show("b", 1.5)
	bar.clear()
	assert.Equal(t, "\r\x1b[K[###############...............]  50 %  a\r\x1b[K[##############################] 100 %  b\r\x1b[K", out.String())
}

func TestWithoutATerminalProgressTakesFewLines(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	for i := range 1000 {
		p.show("a", float64(i)/1000)
	}
	p.clear()
	lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
	assert.Len(t, lines, 20)
	assert.Equal(t, "  0 %  a", string(lines[0]))
	assert.Equal(t, " 95 %  a", string(lines[19]))
}
