// What counts an election, and what measures a ledger: terms and positions.

package memberstate

import (
	"cmp"
	"fmt"
)

// Term numbers the elections of a group. Zero means none: no election was ever
// held. A term has at most one leader, ever, so it serves as a fencing token.
type Term uint64

// MaxTermStep bounds how far above one's own term a message may be. No group
// counts a million million elections; a message that claims so is malformed,
// and must not drag a group to a term that it can never raise again.
const MaxTermStep Term = 1 << 40

// Position is a place in a ledger: the index of an entry and the term of the
// leader that wrote it. The zero Position is the end of an empty ledger.
type Position struct {
	Term  Term
	Index uint64
}

// Compare orders positions as elections do: the later term first, then the
// larger index. It returns -1, 0 or +1.
func (p Position) Compare(q Position) int {
	if c := cmp.Compare(p.Term, q.Term); c != 0 {
		return c
	}
	return cmp.Compare(p.Index, q.Index)
}

// String is term:index, as in "7:42".
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Term, p.Index) }
