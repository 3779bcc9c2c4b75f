// What a store keeps of its node itself: how often its process has been started, and whether an operator keeps it
// drained. Nodes that exchange beats name each other's processes by the count, so that nothing that was said to an earlier
// process counts for a later one.

package memberstate

import (
	"errors"
	"fmt"
)

// ErrOutdated says that a later process of the node has been seen than one that this store knows of. It was put back to an older
// copy, or another process runs under the same id. So the node may have given votes that the store does not know, and
// must not use it.
var ErrOutdated = errors.New("memberstate: the store is outdated")

// nodeRecord is the name of the record that is the node's own, and not a group's. No group has it.
const nodeRecord = ""

// keptDrained is the vote in the node's record if its processes begin drained. Such a record has no other use for a vote, every
// version of the format has room for one, and versions that do not know this write the record without it.
const keptDrained = "drained"

// outdated is the vote in the node's record if the store must not be used any more.
const outdated = "outdated"

// CountStart counts a start of the node's process, durably, and returns the count. The count is the term of
// the record whose group is empty. In a store that has none it begins with first. If that is taken from the
// clock, a node that was given a new store, because it has lost its own, counts higher than before.
//
// The error is ErrOutdated if an OutdatedRecord was saved. It must not run at the same time as KeepDrained, because both
// change one record.
func CountStart(s Store, first uint64) (starts uint64, err error) {
	r, _, err := s.Load(nodeRecord)
	if err == nil {
		err = r.usable()
	}
	if err != nil {
		return 0, err
	}
	if starts = first; r.Term > 0 { // it is 0 if the node was kept drained before its first start was counted
		starts = uint64(r.Term) + 1
	}
	r.Group, r.Term = nodeRecord, Term(starts)
	return starts, s.Save([]Record{r})
}

// KeepDrained has processes of the node that are started later begin drained, durably, or has them serve again. It saves nothing if that
// is so already.
func KeepDrained(s Store, on bool) error {
	r, _, err := s.Load(nodeRecord)
	if err == nil {
		err = r.usable()
	}
	if err != nil || r.KeepsDrained() == on {
		return err
	}
	if r.Group, r.Vote = nodeRecord, ""; on {
		r.Vote = keptDrained
	}
	return s.Save([]Record{r})
}

// IsKeptDrained says whether a process of the node that is started now begins drained.
func IsKeptDrained(s Store) (bool, error) {
	r, _, err := s.Load(nodeRecord)
	return r.KeepsDrained(), err
}

// KeepsDrained says whether this is the node's own record, and has its processes begin drained.
func (r Record) KeepsDrained() bool { return r.Group == nodeRecord && r.Vote == keptDrained }

// OutdatedRecord is the node's own record, after so many starts, if its store must not be used any more.
func OutdatedRecord(starts uint64) Record {
	return Record{Group: nodeRecord, Term: Term(starts), Vote: outdated}
}

// Outdated says whether this is the node's own record, and the store must not be used any more.
func (r Record) Outdated() bool { return r.Group == nodeRecord && r.Vote == outdated }

// usable is ErrOutdated, with the reason, if the store must not be used any more.
func (r Record) usable() error {
	if !r.Outdated() {
		return nil
	}
	return fmt.Errorf("%w: it was started %d times when another node had seen a later start of this one", ErrOutdated, r.Term)
}
