// This file lists the counts of a run: how often each invariant was checked, and how often each
// fault and condition occurred. A count of zero is listed, too, because the reader must know that
// the run shows nothing about it.

package picture

import "github.com/hustings/hustings/simulation/trace"

// table is a list of names with their counts.
type table struct {
	Title, Unit string
	Rows        []row
}

// row is one line of a table.
type row struct {
	Name, Count string
	Violated    bool
	Never       bool
}

func tables(t *trace.Trace) (all []table) {
	for _, tally := range t.Tallies {
		drawn := table{Title: tally.Title, Unit: tally.Unit}
		for _, c := range tally.Counts {
			violated := t.Violation != nil && t.Violation.Invariant.String() == c.Name
			drawn.Rows = append(drawn.Rows, row{Name: c.Name, Count: grouped(c.Times), Violated: violated, Never: c.Times == 0})
		}
		all = append(all, drawn)
	}
	return all
}
