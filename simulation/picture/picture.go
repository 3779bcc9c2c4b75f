// Package picture will draw a run.
package picture

import (
	"fmt"
	"io"

	"github.com/hustings/hustings/simulation"
)

// Page is what is drawn.
type Page struct {
	Title, Replay string
	Traces        []Tab
}

// Tab is one run of a page.
type Tab struct {
	Name  string
	Trace *simulation.Trace
}

// Write writes the page.
func Write(w io.Writer, p Page) error {
	_, err := fmt.Fprintln(w, p.Title)
	return err
}
