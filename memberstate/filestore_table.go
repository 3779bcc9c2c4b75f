// The records of an open store, which can be copied piece by piece while saves change them.

package memberstate

import (
	"cmp"
	"slices"
)

// table holds the last record of every group, in the order of their first saves. Its copy is taken in pieces: the rows
// from the first one on, and then those that have changed since they were taken. Whoever reads all pieces again, in the
// order in which they were taken, has the table.
type table struct {
	groups map[string]*row
	rows   []*row
	length int // of all records, encoded

	taken   int    // so many rows, the first ones, have been taken
	changed []*row // of these, those that have changed since
	due     int    // bytes that are to be taken yet, encoded
}

type row struct {
	record  Record
	number  int
	length  int
	changed bool
}

func newTable() table { return table{groups: map[string]*row{}} }

// put sets the record of a group.
func (t *table) put(r Record) {
	w := t.groups[r.Group]
	if w == nil {
		w = &row{number: len(t.rows)}
		t.groups[r.Group], t.rows = w, append(t.rows, w)
	}
	t.length -= w.length
	if w.number >= t.taken || w.changed {
		t.due -= w.length
	} else {
		w.changed, t.changed = true, append(t.changed, w)
	}
	w.record, w.length = r, recordLength(&r)
	t.length += w.length
	t.due += w.length
}

// get returns the record of a group.
func (t *table) get(group string) (Record, bool) {
	if w := t.groups[group]; w != nil {
		return w.record, true
	}
	return Record{}, false
}

// list returns all records, in no particular order.
func (t *table) list() []Record {
	list := make([]Record, len(t.rows))
	for i, w := range t.rows {
		list[i] = w.record
	}
	return list
}

// sortRecords sorts records by group.
func sortRecords(list []Record) []Record {
	slices.SortFunc(list, func(a, b Record) int { return cmp.Compare(a.Group, b.Group) })
	return list
}

// first is the row to be taken next, nil if the copy is complete.
func (t *table) first() *row {
	switch {
	case t.taken < len(t.rows):
		return t.rows[t.taken]
	case len(t.changed) > 0:
		return t.changed[0]
	}
	return nil
}

// take takes rows as long as they fit into so many bytes, and returns them encoded.
func (t *table) take(room int) (piece []byte) {
	for w := t.first(); w != nil && len(piece)+w.length <= room; w = t.first() {
		if t.taken < len(t.rows) {
			t.taken++
		} else {
			w.changed, t.changed = false, t.changed[1:]
		}
		piece = appendRecord(piece, &w.record)
		t.due -= w.length
	}
	return piece
}

// takeAgain begins another copy.
func (t *table) takeAgain() {
	for _, w := range t.changed {
		w.changed = false
	}
	t.taken, t.changed, t.due = 0, nil, t.length
}
