// The table, for people at a terminal.

package report

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/hustings/hustings/bench/figure"
)

// Table writes the figures, except details, and the configurations.
func (r *Run) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	put := func(format string, values ...any) { _, _ = fmt.Fprintf(t, format, values...) } // Flush returns the error
	for _, s := range r.Sections {
		put("\n%s: %s\n\n", s.Name, s.Title)
		put("name\tours\tpeer\tratio\tspread\n")
		left := 0
		for i := range s.Figures {
			if f := &s.Figures[i]; !f.Detail {
				put("%s\t%s\t%s\t%s\t%s\n", f.Name, value(f.Ours)+" "+f.Unit, peer(f), ratio(f), spread(f))
			} else {
				left++
			}
		}
		if left > 0 {
			put("(%d more in the JSON and on the page)\n", left)
		}
		put("\n")
		for _, c := range s.Configured {
			put("- %s\n", c)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// value formats a number with four digits, and a letter for large powers of ten.
func value(v float64) string {
	for _, unit := range []struct {
		letter string
		is     float64
	}{{"G", 1e9}, {"M", 1e6}, {"k", 1e4}} {
		if v >= unit.is {
			scale := unit.is
			if unit.letter == "k" {
				scale = 1e3
			}
			return strconv.FormatFloat(v/scale, 'g', 4, 64) + unit.letter
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func peer(f *figure.Figure) string {
	switch {
	case f.Peer == nil && f.PeerName == "":
		return "-"
	case f.Peer == nil:
		return f.PeerName
	}
	return value(*f.Peer) + " " + f.PeerName
}

func ratio(f *figure.Figure) string {
	if f.Ratio == nil {
		return "-"
	}
	return strconv.FormatFloat(*f.Ratio, 'f', 3, 64)
}

func spread(f *figure.Figure) string {
	if f.Spread == nil {
		return "-"
	}
	return strconv.FormatFloat(100**f.Spread, 'f', 1, 64) + " %"
}
