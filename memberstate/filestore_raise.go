// Raising the term of a group while its member does not run.
//
// Members follow each other to larger terms, but only by steps of at most
// MaxTermStep: a message that claims more is malformed. If the terms of two members are
// further apart than that, each drops the other's messages, and they never agree
// again. The way out is to raise the smaller term, in the member's store.
//
// This is safe for the same reason as adopting a term is: the member has given no vote
// in the larger term. It forgets its vote in the previous term, but a member never goes
// back to a smaller term, so it will not vote in that one again. A promise to a leader of
// an earlier term still binds it, so the promise stays.

package memberstate

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownGroup: the store has no record of the group.
	ErrUnknownGroup = errors.New("the store has no record of the group")
	// ErrTermNotLarger: the term of a group can only be raised.
	ErrTermNotLarger = errors.New("the term is not larger than the group's")
	// ErrTermTooLarge: from such a term a group could soon run out of terms.
	ErrTermTooLarge = errors.New("the term is too large")
)

// LargestRaise is the largest term that RaiseTerm accepts. It leaves the group as many
// terms again.
const LargestRaise Term = 1 << 63

// RaiseTerm sets the term of a group to a larger one, in which this node has not
// voted, and returns the record before and after. With an error both are the record
// before.
//
// The node must not run: an elector that uses this store would not notice the change. The
// error wraps ErrUnknownGroup, ErrTermNotLarger, ErrTermTooLarge or ErrStoreBroken.
func (s *FileStore) RaiseTerm(group string, to Term) (before, after Record, err error) {
	before, known, err := s.Load(group)
	if err != nil {
		return before, before, err
	}
	refused := func(why error, format string, args ...any) (Record, Record, error) {
		return before, before, fmt.Errorf("memberstate: %s: raise the term of group %q to %d: %w"+format, append([]any{s.path, group, to, why}, args...)...)
	}
	switch {
	case group == nodeRecord: // its term counts the starts of the node
		return refused(ErrUnknownGroup, ": no group has an empty name")
	case !known:
		return refused(ErrUnknownGroup, "")
	case to <= before.Term:
		return refused(ErrTermNotLarger, ", which is %d", before.Term)
	case to > LargestRaise:
		return refused(ErrTermTooLarge, ": %d is the most", LargestRaise)
	}
	after = before
	after.Term, after.Vote = to, ""
	if err := s.Save([]Record{after}); err != nil {
		return before, before, err
	}
	return before, after, nil
}
