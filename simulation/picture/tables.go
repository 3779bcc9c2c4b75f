// What was checked, what struck, what came about. What was never checked is told, for it
// shows nothing; of faults and conditions only those are listed that there were.

package picture

import "github.com/hustings/hustings/simulation"

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

// tables are the three lists; none if nobody counted.
func tables(r *simulation.Result) []table {
	if len(r.Checked) == 0 {
		return nil
	}
	checked := table{Title: "Invariants", Unit: "checked"}
	for _, i := range simulation.Invariants() {
		checked.Rows = append(checked.Rows, newRow(i.String(), r.Checked[i]))
		checked.Rows[len(checked.Rows)-1].Violated = r.Violation != nil && r.Violation.Invariant == i
	}
	struck := table{Title: "Faults", Unit: "struck"}
	for _, f := range simulation.Faults() {
		struck.enter(f.String(), r.Struck[f])
	}
	met := table{Title: "Conditions", Unit: "came about"}
	for _, c := range simulation.Conditions() {
		met.enter(c.String(), r.Met[c])
	}
	return []table{checked, struck, met}
}

// enter adds a line for something that there was.
func (t *table) enter(name string, count uint64) {
	if count > 0 {
		t.Rows = append(t.Rows, newRow(name, count))
	}
}

func newRow(name string, count uint64) row {
	return row{Name: name, Count: grouped(count), Never: count == 0}
}
