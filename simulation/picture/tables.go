// What was counted in a run: how often each invariant was checked, and each fault and condition
// happened. An invariant that was never checked is listed, too, because it shows nothing.

package picture

import "github.com/hustings/hustings/simulation/trace"

// table is a list of names and how often each came.
type table struct {
	Title, Unit string
	Rows        []row
}

// row is one of its lines.
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
