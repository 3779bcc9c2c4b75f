// What was checked, what struck, what came about: with zeros, for what never happened
// shows nothing.

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

func tables(r *simulation.Result) []table {
	checked := table{Title: "Invariants", Unit: "checked"}
	for _, i := range simulation.Invariants() {
		checked.Rows = append(checked.Rows, newRow(i.String(), r.Checked[i]))
		checked.Rows[len(checked.Rows)-1].Violated = r.Violation != nil && r.Violation.Invariant == i
	}
	struck := table{Title: "Faults", Unit: "struck"}
	for _, f := range simulation.Faults() {
		struck.Rows = append(struck.Rows, newRow(f.String(), r.Struck[f]))
	}
	met := table{Title: "Conditions", Unit: "came about"}
	for _, c := range simulation.Conditions() {
		met.Rows = append(met.Rows, newRow(c.String(), r.Met[c]))
	}
	return []table{checked, struck, met}
}

func newRow(name string, count uint64) row {
	return row{Name: name, Count: grouped(count), Never: count == 0}
}
