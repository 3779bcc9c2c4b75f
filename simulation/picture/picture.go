// This file has the page: its parts, and the policy by which it loads nothing.

package picture

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"

	"github.com/hustings/hustings/simulation/trace"
)

// Page is a page to draw.
type Page struct {
	Title string
	// Replay is the command line that shows this again; it may be empty.
	Replay string
	Traces []Tab
}

// Tab is one of the traces on a page.
type Tab struct {
	Name  string // "original", "shrunk"
	Trace *trace.Trace
}

// Write writes the page as HTML.
func Write(w io.Writer, p Page) error {
	view := pageView{
		Title: p.Title, Replay: p.Replay,
		Style: template.CSS(style), Script: template.JS(script), // both are our own files
		Policy: policy,
	}
	if view.Title == "" {
		view.Title = "An election"
	}
	for i, t := range p.Traces {
		if t.Trace == nil {
			t.Trace = &trace.Trace{}
		}
		view.Tabs = append(view.Tabs, newTabView(i, t))
	}
	return page.Execute(w, view)
}

var (
	//go:embed page.html
	pageText string
	//go:embed still.svg
	stillText string
	//go:embed style.css
	style string
	//go:embed data.js
	dataScript string
	//go:embed labels.js
	labelsScript string
	//go:embed draw.js
	drawScript string
	//go:embed panel.js
	panelScript string
	//go:embed interact.js
	interactScript string

	page = template.Must(template.Must(template.New("page").Parse(pageText)).New("still").Parse(stillText)).Lookup("page")

	// The files of the script share one scope, and add nothing to the page's.
	script = "(() => {\n\"use strict\";\n" + dataScript + labelsScript + drawScript + panelScript + interactScript + "})();\n"

	// The page loads nothing, and runs no other script than this one. If a text of a trace ever
	// got past the escaping, the browser would still refuse to run it.
	policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-" + hash(script) + "'; base-uri 'none'; form-action 'none'"
)

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// pageView is the input of the template.
type pageView struct {
	Title, Replay, Policy string
	Style                 template.CSS
	Script                template.JS
	Tabs                  []tabView
}

// tabView is the template's input for one trace.
type tabView struct {
	Index     int
	Name      string
	Sentence  string
	Violated  bool
	Facts     []fact
	Still     still
	Story     story
	Tables    []table
	Scenario  string
	Packed    packed
	Observers bool
	Ticks     bool
}

func newTabView(i int, tab Tab) tabView {
	t := tab.Trace
	lanes := spans(t)
	v := tabView{
		Index: i, Name: tab.Name, Scenario: t.Scenario, Sentence: sentence(t), Violated: t.Violation != nil, Facts: facts(t),
		Tables: tables(t), Observers: observers(t) > 0,
		Ticks: slices.ContainsFunc(t.Moments, func(m trace.Moment) bool { return m.Kind == trace.Ticked }),
	}
	if v.Name == "" {
		v.Name = "run"
	}
	opens := windowThatMatters(t, lanes)
	v.Still = newStill(t, lanes, opens)
	v.Story = tell(t, opens)
	v.Packed = pack(t, opens)
	return v
}
