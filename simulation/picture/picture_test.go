package picture_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/picture"
	"github.com/hustings/hustings/simulation/picture/internal/sample"
	"github.com/hustings/hustings/simulation/trace"
)

// written writes the page of some traces.
func written(t *testing.T, traces ...*trace.Trace) string {
	t.Helper()
	page := picture.Page{Title: "a run", Replay: "hustings sim --seed 1"}
	for i, run := range traces {
		page.Traces = append(page.Traces, picture.Tab{Name: []string{"original", "shrunk"}[i], Trace: run})
	}
	return pageOf(t, page)
}

func pageOf(t *testing.T, page picture.Page) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, picture.Write(&b, page))
	return b.String()
}

// says fails without showing the page, because the page is long.
func says(t *testing.T, html, text string) {
	t.Helper()
	if !strings.Contains(html, text) {
		t.Errorf("the page does not say %q", text)
	}
}

func saysNot(t *testing.T, html, text string) {
	t.Helper()
	if strings.Contains(html, text) {
		t.Errorf("the page says %q", text)
	}
}

func TestPageTellsTheViolation(t *testing.T) {
	original, shrunk := sample.Violation()
	html := written(t, original, shrunk)
	sentence := regexp.MustCompile(`<h2 .*</h2>`).FindString(html)
	assert.Regexp(t, `<h2 class="sentence violated">Entry .* acknowledged by .*: “committed entries stay” violated at [\d.]+ s\.</h2>`, sentence)
	says(t, html, "committed entries stay — violated")
	says(t, html, `data-name="shrunk"`)
	says(t, html, "<code>hustings sim --seed 1</code>")
	says(t, html, `<li class="violated"`)
}

func TestPageWithoutViolationCountsElections(t *testing.T) {
	html := written(t, &trace.Trace{End: time.Minute, Elections: 12})
	says(t, html, "No violation: 12 elections in 60 s.")
}

func TestSentences(t *testing.T) {
	lease := func(node int, term memberstate.Term) trace.Band {
		return trace.Band{Kind: trace.LeaseBand, Node: node, Term: term, To: 5 * time.Second}
	}
	for sentence, run := range map[string]*trace.Trace{
		"n1: term 4 was led by n0: “one leader a term” violated at 3.21 s.": {
			Violation: &invariant.Violation{Invariant: invariant.OneLeader, At: 3210 * time.Millisecond, Node: 1, What: "term 4 was led by n0"},
		},
		"n2 leads term 4 with 1 durable votes: “won by a quorum” violated at 0.25 s.": {
			Violation: &invariant.Violation{
				Invariant: invariant.WonByQuorum, At: 250 * time.Millisecond, Node: 2, What: "it leads term 4 with 1 durable votes",
			},
		},
		"n0 held a lease in term 3 while n1 held one in term 2: “one lease” violated at 4 s.": {
			Nodes: 2, Bands: []trace.Band{lease(0, 3), lease(1, 2)},
			Violation: &invariant.Violation{Invariant: invariant.OneLease, At: 4 * time.Second, What: "?"},
		},
		"Entry 5:7 was committed in term 6 and acknowledged by n0, n1 and n2, and n2 is without it: “committed entries stay” violated at 1 s.": {
			Violation: &invariant.Violation{
				Invariant: invariant.CommittedStays, At: time.Second, Node: 2, What: "?",
				Lost: &invariant.LostEntry{Entry: memberstate.Position{Term: 5, Index: 7}, Committed: 6, Acknowledged: []int{0, 1, 2}, Missing: []int{2}},
			},
		},
		"No violation: 1 election in 0.5 s.": {End: 500 * time.Millisecond, Elections: 1},
	} {
		says(t, written(t, run), ">"+sentence+"<")
	}
}

func TestUntrustedTextIsEscaped(t *testing.T) {
	const evil = `</script><img src=x onerror=alert(1)>{{.}}"'<!--`
	run := sample.Calm(3)
	for i := range run.Moments {
		run.Moments[i].What = evil
		run.Moments[i].State.Asking = evil
	}
	run.Bands = append(run.Bands, trace.Band{Node: -1, What: evil, To: run.End, Links: [][2]int{{0, 1}}})
	run.Violation = &invariant.Violation{At: run.End, What: evil}
	html := pageOf(t, picture.Page{Title: evil, Replay: evil, Traces: []picture.Tab{{Name: evil, Trace: run}}})
	saysNot(t, html, "<img")
	saysNot(t, html, evil)
	assert.Equal(t, 2, strings.Count(html, "</script>"), "the data's and the script's own")
	assertDrawings(t, html, 1)
}

func TestPageShowsTheScenario(t *testing.T) {
	run := sample.Calm(3)
	require.Contains(t, run.Scenario, "members 3\n")
	says(t, written(t, run), "members 3\n")
}

func TestStillDrawingIsWellFormed(t *testing.T) {
	original, shrunk := sample.Violation()
	assertDrawings(t, written(t, original, shrunk), 2)
	assertDrawings(t, written(t, sample.Calm(1)), 1)
	for _, nodes := range []int{2, 9} {
		html := written(t, sample.Calm(nodes))
		assertDrawings(t, html, 1)
		says(t, html, `class="span leader"`)
	}
}

// assertDrawings parses every drawing of a page.
func assertDrawings(t *testing.T, html string, count int) {
	t.Helper()
	drawings := regexp.MustCompile(`(?s)<svg class="drawing still".*?</svg>`).FindAllString(html, -1)
	require.Len(t, drawings, count)
	for _, drawing := range drawings {
		d := xml.NewDecoder(strings.NewReader(drawing))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if !assert.NoError(t, err) {
				return
			}
		}
		assert.NotContains(t, drawing, "NaN")
		assert.NotContains(t, drawing, "Inf")
	}
}

// No label of the still drawing may lie on another, even if its letters are as wide as possible.
func TestLabelsOfTheStillDrawingDoNotCollide(t *testing.T) {
	original, shrunk := sample.Violation()
	for name, run := range map[string]*trace.Trace{
		"original": original, "shrunk": shrunk, "stormy": sample.Stormy(), "crowded": sample.Crowded(), "explored": sample.Explored(), "busy": busy(),
	} {
		drawing := regexp.MustCompile(`(?s)<svg class="drawing still".*?</svg>`).FindString(written(t, run))
		labels := regexp.MustCompile(`<text class="(\w+)[^"]*" x="([\d.]+)" y="([\d.]+)">(.*?)</text>`).FindAllStringSubmatch(drawing, -1)
		kinds := map[string]int{}
		for i, a := range labels {
			kinds[a[1]]++
			ax, ay, width := number(t, a[2]), number(t, a[3]), 6.2*float64(utf8.RuneCountInString(a[4]))
			assert.LessOrEqual(t, ax+width, 1080.0, "%s: %s reaches out", name, a[4])
			for _, b := range labels[:i] {
				bx, by, before := number(t, b[2]), number(t, b[3]), 6.2*float64(utf8.RuneCountInString(b[4]))
				apart := ax >= bx+before || bx >= ax+width || math.Abs(ay-by) > 10
				assert.True(t, apart, "%s: %s lies on %s", name, a[4], b[4])
			}
		}
		for _, kind := range []string{"time", "node", "term"} {
			assert.Positive(t, kinds[kind], "%s: %s", name, kind)
		}
	}
}

// busy makes a trace with so many heartbeats that their counts have no room side by side, and
// with a violation at its end.
func busy() *trace.Trace {
	t := &trace.Trace{Nodes: 2, Voters: 2, End: time.Second, Moments: []trace.Moment{
		{Kind: trace.Started, Passage: -1, Cause: -1, Past: true, State: trace.NodeState{Up: true}},
		{Kind: trace.Violated, At: time.Second, Passage: -1, Cause: 0, Past: true, State: trace.NodeState{Up: true}},
	}}
	for at := time.Duration(0); at < t.End; at += 50 * time.Microsecond {
		t.Passages = append(t.Passages, trace.Passage{To: 1, Kind: rpc.Heartbeat, Sent: at, Arrived: at + time.Millisecond, SentBy: -1, HeardBy: -1})
	}
	t.Violation = &invariant.Violation{Invariant: invariant.LeaderComplete, At: t.End, What: "?"}
	return t
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return n
}

// Counts of zero are marked, and an empty table says so.
func TestTablesListTheTallies(t *testing.T) {
	html := written(t, &trace.Trace{Tallies: []trace.Tally{
		{Title: "Invariants", Counts: []trace.Count{{Name: "one leader a term", Times: 3}, {Name: "one lease"}}},
		{Title: "Faults", Counts: []trace.Count{{Name: "crash", Times: 2}}},
		{Title: "Conditions"},
	}})
	says(t, html, `<th scope="row">crash</th><td>2</td>`)
	says(t, html, `<tr class="never"><th scope="row">one lease</th><td>0</td>`)
	says(t, html, `<th scope="row">none</th>`)
	saysNot(t, written(t, sample.Explored()), "Checks, faults and conditions")
}

func TestExploredTraceShowsTicksAndLeases(t *testing.T) {
	html := written(t, sample.Explored())
	drawing := regexp.MustCompile(`(?s)<svg class="drawing still".*?</svg>`).FindString(html)
	assert.Equal(t, 7, strings.Count(drawing, `class="clock"`), "three ticks, of which n0 misses two")
	assert.Equal(t, 2, strings.Count(drawing, `class="struck"`))
	assert.Equal(t, 2, strings.Count(drawing, `class="lease"`))
	says(t, html, "its clock misses a tick")
	says(t, html, "n2 held a lease in term 2 while n0 held one in term 1")
	says(t, html, "a clock’s tick")
	saysNot(t, written(t, sample.Calm(3)), "a clock’s tick")
}

func TestPageLoadsNothing(t *testing.T) {
	original, _ := sample.Violation()
	html := strings.ReplaceAll(written(t, original), "http://www.w3.org/2000/svg", "")
	saysNot(t, html, "http://")
	saysNot(t, html, "https://")
	saysNot(t, html, "ZgotmplZ")
	says(t, html, "default-src &#39;none&#39;")
}

func TestLongRunMakesASmallPage(t *testing.T) {
	moments := effort.Of(100_000, 30_000)
	run := sample.Long(moments)
	require.GreaterOrEqual(t, len(run.Moments), moments)
	assert.Less(t, len(written(t, run))/len(run.Moments), 140, "bytes a moment")
}

func TestEmptyAndInvalidTracesDoNotPanic(t *testing.T) {
	says(t, written(t, &trace.Trace{}), "No violation: 0 elections in 0 s.")
	says(t, written(t, nil), "No violation")
	says(t, written(t), "Nothing was recorded.")
	says(t, written(t, &trace.Trace{Violation: &invariant.Violation{}}), "violated at 0 s")
	// Places out of range must not panic, either.
	says(t, written(t, &trace.Trace{
		Nodes: 1, Moments: []trace.Moment{{Node: 7}, {Node: -1}}, Passages: []trace.Passage{{From: 3, To: -1}}, Bands: []trace.Band{{Node: 5}},
	}), "No violation")
}

// The script's data must be JSON, and each column must be as long as there are moments or passages.
func TestDataIsJSON(t *testing.T) {
	run := sample.Stormy()
	data := regexp.MustCompile(`(?s)<script type="application/json" class="data">(.*?)</script>`).FindStringSubmatch(written(t, run))
	require.Len(t, data, 2)
	var read struct {
		Moments  struct{ At, Node, Mask []int64 }
		Passages struct{ Sent, Travel []int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(data[1]), &read))
	assert.Len(t, read.Moments.Mask, len(run.Moments))
	assert.Len(t, read.Passages.Travel, len(run.Passages))
	at := int64(0)
	for i, since := range read.Moments.At {
		at += since
		require.Equal(t, run.Moments[i].At.Microseconds(), at)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteReturnsTheWritersError(t *testing.T) {
	assert.ErrorContains(t, picture.Write(full{}, picture.Page{}), "no space")
}

func BenchmarkWrite(b *testing.B) {
	page := picture.Page{Traces: []picture.Tab{{Trace: sample.Long(100_000)}}}
	for b.Loop() {
		require.NoError(b, picture.Write(io.Discard, page))
	}
}
