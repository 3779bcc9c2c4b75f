package picture_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/picture"
	"github.com/hustings/hustings/simulation/picture/internal/sample"
)

// written is the page of some traces.
func written(t *testing.T, traces ...*simulation.Trace) string {
	t.Helper()
	page := picture.Page{Title: "a run", Replay: "hustings sim --seed 1"}
	for i, trace := range traces {
		page.Traces = append(page.Traces, picture.Tab{Name: []string{"original", "shrunk"}[i], Trace: trace})
	}
	return pageOf(t, page)
}

func pageOf(t *testing.T, page picture.Page) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, picture.Write(&b, page))
	return b.String()
}

// says does not show the page if it fails: that is long.
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

func TestAViolatingTraceSaysWhatHappened(t *testing.T) {
	original, shrunk := sample.Violation()
	html := written(t, original, shrunk)
	sentence := regexp.MustCompile(`<h2 .*</h2>`).FindString(html)
	assert.Regexp(t, `<h2 class="sentence violated">n\d .*: “committed entries stay” violated at [\d.]+ s\.</h2>`, sentence)
	says(t, html, "committed entries stay — violated")
	says(t, html, `data-name="shrunk"`)
	says(t, html, "<code>hustings sim --seed 1</code>")
	says(t, html, `<li class="violated"`)
}

func TestWithoutViolationThereIsACount(t *testing.T) {
	html := written(t, &simulation.Trace{End: time.Minute, Result: simulation.Result{Elections: 12}})
	says(t, html, "No violation: 12 elections in 60 s.")
}

func TestSentences(t *testing.T) {
	lease := func(node int, term memberstate.Term) simulation.Band {
		return simulation.Band{Kind: simulation.LeaseBand, Node: node, Term: term, To: 5 * time.Second}
	}
	for sentence, trace := range map[string]*simulation.Trace{
		"n1: term 4 was led by n0: “one leader a term” violated at 3.21 s.": {
			Result: simulation.Result{Violation: &simulation.Violation{Invariant: simulation.OneLeader, At: 3210 * time.Millisecond, Node: 1, What: "term 4 was led by n0"}},
		},
		"n2 leads term 4 with 1 durable votes: “won by a quorum” violated at 0.25 s.": {
			Result: simulation.Result{Violation: &simulation.Violation{
				Invariant: simulation.WonByQuorum, At: 250 * time.Millisecond, Node: 2, What: "it leads term 4 with 1 durable votes",
			}},
		},
		"n0 held a lease in term 3 while n1 held one in term 2: “one lease” violated at 4 s.": {
			Nodes: 2, Bands: []simulation.Band{lease(0, 3), lease(1, 2)},
			Result: simulation.Result{Violation: &simulation.Violation{Invariant: simulation.OneLease, At: 4 * time.Second, What: "?"}},
		},
		"No violation: 1 election in 0.5 s.": {End: 500 * time.Millisecond, Result: simulation.Result{Elections: 1}},
	} {
		says(t, written(t, trace), ">"+sentence+"<")
	}
}

func TestWhatIsNotTrustedIsEscaped(t *testing.T) {
	const evil = `</script><img src=x onerror=alert(1)>{{.}}"'<!--`
	trace := sample.Calm(3)
	for i := range trace.Moments {
		trace.Moments[i].What = evil
		trace.Moments[i].State.Asking = evil
	}
	trace.Bands = append(trace.Bands, simulation.Band{Node: -1, What: evil, To: trace.End, Links: [][2]int{{0, 1}}})
	trace.Result.Violation = &simulation.Violation{At: trace.End, What: evil}
	html := pageOf(t, picture.Page{Title: evil, Replay: evil, Traces: []picture.Tab{{Name: evil, Trace: trace}}})
	saysNot(t, html, "<img")
	saysNot(t, html, evil)
	assert.Equal(t, 2, strings.Count(html, "</script>"), "the data's and the script's own")
	assertDrawings(t, html, 1)
}

func TestTheScenarioIsShown(t *testing.T) {
	trace := sample.Calm(3)
	if text := trace.Scenario.String(); text != "" {
		says(t, written(t, trace), "<pre")
	}
}

func TestTheStillDrawingIsWellFormed(t *testing.T) {
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

func TestThePageNeedsNothingButItself(t *testing.T) {
	original, _ := sample.Violation()
	html := strings.ReplaceAll(written(t, original), "http://www.w3.org/2000/svg", "")
	saysNot(t, html, "http://")
	saysNot(t, html, "https://")
	saysNot(t, html, "ZgotmplZ")
	says(t, html, "default-src &#39;none&#39;")
}

func TestALongRunIsASmallPage(t *testing.T) {
	trace := sample.Long(100_000)
	require.GreaterOrEqual(t, len(trace.Moments), 100_000)
	assert.Less(t, len(written(t, trace))/len(trace.Moments), 120, "bytes a moment")
}

func TestNothingIsNoReasonToPanic(t *testing.T) {
	says(t, written(t, &simulation.Trace{}), "No violation: 0 elections in 0 s.")
	says(t, written(t, nil), "No violation")
	says(t, written(t), "Nothing was recorded.")
	says(t, written(t, &simulation.Trace{Result: simulation.Result{Violation: &simulation.Violation{}}}), "violated at 0 s")
	// Nor is what cannot be.
	says(t, written(t, &simulation.Trace{
		Nodes: 1, Moments: []simulation.Moment{{Node: 7}, {Node: -1}}, Passages: []simulation.Passage{{From: 3, To: -1}}, Bands: []simulation.Band{{Node: 5}},
	}), "No violation")
}

// What the script is given is JSON, and as many columns are as long as there are moments.
func TestTheDataIsJSON(t *testing.T) {
	trace := sample.Stormy()
	data := regexp.MustCompile(`(?s)<script type="application/json" class="data">(.*?)</script>`).FindStringSubmatch(written(t, trace))
	require.Len(t, data, 2)
	var read struct {
		Moments  struct{ At, Node, Mask []int64 }
		Passages struct{ Sent, Travel []int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(data[1]), &read))
	assert.Len(t, read.Moments.Mask, len(trace.Moments))
	assert.Len(t, read.Passages.Travel, len(trace.Passages))
	at := int64(0)
	for i, since := range read.Moments.At {
		at += since
		require.Equal(t, trace.Moments[i].At.Microseconds(), at)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestAWriterThatFails(t *testing.T) {
	assert.ErrorContains(t, picture.Write(full{}, picture.Page{}), "no space")
}

func BenchmarkWrite(b *testing.B) {
	page := picture.Page{Traces: []picture.Tab{{Trace: sample.Long(100_000)}}}
	for b.Loop() {
		require.NoError(b, picture.Write(io.Discard, page))
	}
}
