// The page: one self-contained file, for light and for dark mode.

package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"charts": charts, "value": value, "peer": peer, "ratio": ratio, "spread": spread,
	"plus": func(a, b int) int { return a + b }, "from": func() int { return barsFrom },
	"after": func(width float64) float64 { return barsFrom + width + 5 },
}).Parse(pageText))

// Page writes the run as HTML.
func (r *Run) Page(w io.Writer) error {
	if err := page.Execute(w, r); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
