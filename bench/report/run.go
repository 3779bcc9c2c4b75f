// Package report writes the results of a run: as a table, as JSON and as a page.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/hustings/hustings/bench/figure"
)

// Section is the results of one section.
type Section struct {
	Name       string          `json:"name"`
	Title      string          `json:"title"`
	Configured []string        `json:"configured"`
	Figures    []figure.Figure `json:"figures"`
}

// Run is the results of a run, and the machine.
type Run struct {
	Go         string    `json:"go"`
	Platform   string    `json:"platform"`
	Processors int       `json:"processors"`
	Sections   []Section `json:"sections"`
}

// NewRun makes a run of this program, without results yet.
func NewRun() *Run {
	return &Run{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.GOMAXPROCS(0)}
}

// Add adds the figures of a section, measured by a plan. Two figures with the same name are an
// error, because readers of the JSON identify figures by their names.
func (r *Run) Add(s *figure.Section, p figure.Plan, figures []figure.Figure) error {
	configured := slices.Clone(s.Configured)
	if s.Extent != nil {
		configured = append(configured, s.Extent(p))
	}
	r.Sections = append(r.Sections, Section{s.Name, s.Title, configured, figures})
	seen := make(map[string]bool, len(figures))
	for i := range figures {
		name := figures[i].Name
		if seen[name] {
			return fmt.Errorf("report: section %s has two figures called %q", s.Name, name)
		}
		seen[name] = true
	}
	return nil
}

// Line writes all figures as a list, in one line of JSON.
func (r *Run) Line(w io.Writer) error {
	all := []figure.Figure{}
	for _, s := range r.Sections {
		all = append(all, s.Figures...)
	}
	return encode(w, all, "")
}

// JSON writes the run.
func (r *Run) JSON(w io.Writer) error { return encode(w, r, "  ") }

func encode(w io.Writer, what any, indent string) error {
	e := json.NewEncoder(w)
	e.SetIndent("", indent)
	if err := e.Encode(what); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
