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

// Read reads a run that JSON has written.
func Read(from io.Reader) (*Run, error) {
	r := new(Run)
	if err := json.NewDecoder(from).Decode(r); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return r, nil
}

// Replace puts the sections of a newer run in the place of its own, and sorts all by their names' order.
// It is an error if the runs are not of the same machine and version of Go, because a run names only
// one.
func (r *Run) Replace(newer *Run, order []string) error {
	if r.Go != newer.Go || r.Platform != newer.Platform || r.Processors != newer.Processors {
		return fmt.Errorf("report: it was measured with %s on %s with %d processors, and the new sections with %s on %s with %d: measure all again",
			r.Go, r.Platform, r.Processors, newer.Go, newer.Platform, newer.Processors)
	}
	for _, s := range newer.Sections {
		r.Sections = slices.DeleteFunc(r.Sections, func(other Section) bool { return other.Name == s.Name })
		r.Sections = append(r.Sections, s)
	}
	slices.SortStableFunc(r.Sections, func(a, b Section) int {
		return slices.Index(order, a.Name) - slices.Index(order, b.Name)
	})
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
