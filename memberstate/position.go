// Terms, which number elections, and positions in a ledger.

package memberstate

import (
	"cmp"
	"fmt"
)

// Term numbers the elections of a group. Zero means that there was none yet. A term has
// at most one leader, ever, so it serves as a fencing token.
type Term uint64

// MaxTermStep bounds how far the term of a message may be above the receiver's. No group
// holds a million million elections, so a message that claims this is malformed. Without
// the bound it could raise a group to the largest term, in which no election is possible.
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

// String returns term:index, as in "7:42".
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Term, p.Index) }
