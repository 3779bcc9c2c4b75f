package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/figure"
)

// run returns a run with a figure beside a peer's, one without a peer, and a detail.
func run(t *testing.T) *Run {
	t.Helper()
	r := NewRun()
	beside := figure.Figure{Section: "speed", Name: "<quick>", Unit: "ns", Ours: 25, Spread: new(0.1)}
	beside.Beside("another", 100)
	speed := &figure.Section{Name: "speed", Title: "How fast", Configured: []string{"Ours: as it comes."}, Extent: extent}
	require.NoError(t, r.Add(speed, figure.Plan{Quick: true}, []figure.Figure{
		beside,
		{Section: "speed", Name: "alone", Unit: "T/s", Ours: 23_456_789, At: "here", Chart: "rates"},
		{Section: "speed", Name: "of interest to few", Unit: "ns", Ours: 1, Detail: true},
	}))
	require.NoError(t, r.Add(&figure.Section{Name: "none", Title: "Nothing was measured"}, figure.Plan{}, nil))
	return r
}

func extent(p figure.Plan) string {
	if p.Quick {
		return "One repetition."
	}
	return "Nine repetitions."
}

func TestFiguresOfOneNameAreAnError(t *testing.T) {
	twice := []figure.Figure{{Name: "a", Unit: "s"}, {Name: "b", Unit: "s"}, {Name: "a", Unit: "CPU s"}}
	err := NewRun().Add(&figure.Section{Name: "speed"}, figure.Plan{}, twice)
	require.ErrorContains(t, err, `section speed has two figures called "a"`)
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	return b.String()
}

func TestTheTableLeavesOutDetails(t *testing.T) {
	table := written(t, run(t).Table)
	lines := strings.Split(table, "\n")
	assert.Contains(t, lines, "name     ours        peer         ratio  spread")
	assert.Contains(t, lines, "<quick>  25 ns       100 another  0.250  10.0 %")
	assert.Contains(t, lines, "alone    23.46M T/s  -            -      -")
	assert.Contains(t, table, "(1 more in the JSON and on the page)")
	assert.Contains(t, table, "- Ours: as it comes.\n- One repetition.\n", "only the plan's own extent is printed")
	assert.NotContains(t, table, "of interest to few")
}

func TestTheLineIsAListOfAllFigures(t *testing.T) {
	line := written(t, run(t).Line)
	assert.Equal(t, 1, strings.Count(line, "\n"))
	var figures []map[string]any
	require.NoError(t, json.Unmarshal([]byte(line), &figures))
	require.Len(t, figures, 3)
	assert.Equal(t, map[string]any{
		"section": "speed", "name": "<quick>", "unit": "ns", "ours": 25.0,
		"peer": 100.0, "peer_name": "another", "ratio": 0.25, "spread": 0.1,
	}, figures[0])
	assert.Nil(t, figures[1]["peer"])
	assert.Nil(t, figures[1]["ratio"])
	assert.Nil(t, figures[1]["spread"])
}

func TestAnEmptyRunIsAnEmptyList(t *testing.T) {
	assert.Equal(t, "[]\n", written(t, NewRun().Line))
}

func TestTheRunIsReadAsItWasWritten(t *testing.T) {
	read, err := Read(strings.NewReader(written(t, run(t).JSON)))
	require.NoError(t, err)
	assert.Equal(t, run(t), read)
	_, err = Read(strings.NewReader("?"))
	require.Error(t, err)
}

func TestSectionsAreReplacedInTheirOrder(t *testing.T) {
	last, newer := run(t), NewRun()
	for _, s := range []string{"speed", "new"} {
		require.NoError(t, newer.Add(&figure.Section{Name: s, Title: "newer"}, figure.Plan{}, nil))
	}
	require.NoError(t, last.Replace(newer, []string{"new", "speed", "none"}))
	require.Len(t, last.Sections, 3)
	assert.Equal(t, Section{Name: "new", Title: "newer"}, last.Sections[0])
	assert.Equal(t, Section{Name: "speed", Title: "newer"}, last.Sections[1])
	assert.Equal(t, run(t).Sections[1], last.Sections[2], "the others stay")

	for _, other := range []Run{
		{Go: "go1", Platform: newer.Platform, Processors: newer.Processors},
		{Go: newer.Go, Platform: "abacus", Processors: newer.Processors},
		{Go: newer.Go, Platform: newer.Platform, Processors: newer.Processors + 1},
	} {
		require.ErrorContains(t, last.Replace(&other, nil), "measure all again")
	}
}

func TestAPeerThatFailsIsNamed(t *testing.T) {
	r := NewRun()
	failed := figure.Figure{Name: "a", Unit: "T", Ours: 1, PeerName: "another: never"}
	require.NoError(t, r.Add(&figure.Section{Name: "speed"}, figure.Plan{}, []figure.Figure{failed}))
	assert.Contains(t, strings.Split(written(t, r.Table), "\n"), "a     1 T   another: never  -      -")
	drawn := charts([]figure.Figure{failed})[0].Rows[0].Peer
	assert.Equal(t, bar{Label: "another: never", Title: "another: never"}, drawn)
}

func TestThePageIsSelfContained(t *testing.T) {
	text := written(t, run(t).Page)
	for _, other := range []string{"http:", "https:", "//", "src=", "<link", "<script", "@import", "url("} {
		assert.NotContains(t, text, other)
	}
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		assert.Contains(t, text, `id="`+strings.TrimPrefix(link[1], "#")+`"`, "a link leads to a place on the page")
	}
	assert.Contains(t, text, "prefers-color-scheme: dark")
	assert.Contains(t, text, "of interest to few", "details are in the table")
	assert.Contains(t, text, "&lt;quick&gt;", "names are text")
	assert.NotContains(t, text, "ZgotmplZ")
}

func TestThePagesChartsAreWellFormed(t *testing.T) {
	text := written(t, run(t).Page)
	plots := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1)
	require.Len(t, plots, 2)
	for _, plot := range plots {
		require.NoError(t, xml.Unmarshal([]byte(plot), new(struct{})))
	}
	assert.Equal(t, 2, strings.Count(plots[0], "<rect"), "ours and the peer's")
	assert.Equal(t, 1, strings.Count(plots[1], "<rect"), "ours alone")
}

func TestBarsAreAsLongAsTheirFiguresAreLarge(t *testing.T) {
	s := run(t).Sections[0]
	all := charts(s.Figures)
	require.Len(t, all, 2)
	assert.Equal(t, "ns", all[0].Title)
	assert.Equal(t, "<quick>", all[0].Rows[0].At)
	assert.InDelta(t, barsWidth/4.0, all[0].Rows[0].Ours.Width, 1e-9)
	assert.InDelta(t, barsWidth, all[0].Rows[0].Peer.Width, 1e-9)
	assert.Equal(t, "rates", all[1].Title)
	assert.Equal(t, "here", all[1].Rows[0].At)
	assert.Empty(t, charts(nil))
}

func TestMarksAreFewAndRound(t *testing.T) {
	for most, labels := range map[float64][]string{
		0: nil, 1: {"0.5", "1"}, 1.02: {"0.5", "1"}, 100: {"50", "100"}, 430: {"200", "400"}, 0.03: {"0.01", "0.02", "0.03"},
	} {
		var got []string
		for _, m := range marks(most) {
			got = append(got, m.Label)
		}
		assert.Equal(t, labels, got, most)
	}
}

func TestValuesHaveFourDigits(t *testing.T) {
	for v, text := range map[float64]string{
		0: "0", 1.01255: "1.013", 9999: "9999", 12345: "12.35k", 2_345_678: "2.346M", 3e9: "3G", 0.00012345: "0.0001234",
	} {
		assert.Equal(t, text, value(v))
	}
}
