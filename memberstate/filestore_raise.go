// Raising the term of a group while its member does not run.
//
// Members follow each other to larger terms, but only by steps of at most
// MaxTermStep: a message that claims more is malformed. If two members have come
// further apart than that, each drops what the other says, and they stay apart for
// ever. The way out is to raise the term of the one that lags, in its store.
//
// This is safe for the same reason as adopting a term is: the larger term is one in
// which the member has given no vote. Its vote in the term before is forgotten, but
// it will never be asked for that again, because a member never goes back. What it
// may have promised to a leader of an earlier term still binds it, so that stays.

package memberstate

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownGroup: the store has no record of the group.
	ErrUnknownGroup = errors.New("the store has no record of the group")
	// ErrTermNotLarger: the term of a group is not lowered, nor set to what it is.
	ErrTermNotLarger = errors.New("the term is not larger than the group's")
	// ErrTermTooLarge: in such a term a group could soon not be raised any further.
	ErrTermTooLarge = errors.New("the term is too large")
)

// LargestRaise is the largest term that RaiseTerm accepts. As many terms again lie
// above it, so the group can go on to count.
const LargestRaise Term = 1 << 63

// RaiseTerm sets the term of a group to a larger one, in which this node has not
// voted, and returns the record before and after. Both are what the store holds if
// there is an error.
//
// It is for a store whose node does not run: an elector that uses this store does not
// learn of it. The error wraps ErrUnknownGroup, ErrTermNotLarger, ErrTermTooLarge or
// ErrStoreBroken.
func (s *FileStore) RaiseTerm(group string, to Term) (before, after Record, err error) {
	before, known, err := s.Load(group)
	if err != nil {
		return before, before, err
	}
	refused := func(why error, format string, args ...any) (Record, Record, error) {
		return before, before, fmt.Errorf("memberstate: %s: raise the term of group %q to %d: %w"+format, append([]any{s.path, group, to, why}, args...)...)
	}
	switch {
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
