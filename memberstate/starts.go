// How often the process of a node has been started. Nodes that exchange beats name each other's
// processes by it, so that nothing that was said to an earlier process counts for a later one.

package memberstate

// nodeRecord is the name of the record that is the node's own, and not a group's. No group has it.
const nodeRecord = ""

// CountStart counts a start of the node's process, durably, and returns the count. The count is the term of
// the record whose group is empty. In a store that has none it begins with first. If that is taken from the
// clock, a node that was given a new store, because it has lost its own, counts higher than before.
func CountStart(s Store, first uint64) (starts uint64, err error) {
	r, known, err := s.Load(nodeRecord)
	if err != nil {
		return 0, err
	}
	if starts = first; known {
		starts = uint64(r.Term) + 1
	}
	return starts, s.Save([]Record{{Group: nodeRecord, Term: Term(starts)}})
}
