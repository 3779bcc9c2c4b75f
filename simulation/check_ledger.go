// Ledgers: what a quorum has is committed, every later leader has it, too, and no node
// that has acknowledged it loses it.

package simulation

import (
	"cmp"
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// commitment is what was committed by the end of a term, as the leader of the term
// knows.
type commitment struct {
	term   memberstate.Term
	ledger ledger
}

// mostCommitments bounds how many are kept. Who leads a term before the oldest of them
// is not held against any.
const mostCommitments = 128

// committed notes that all entries up to an index are, if the last of them is of the
// leader's own term: an older one may still be overwritten (Raft, figure 8).
func (c *checker) committed(n *member, index uint64) {
	term, now, h := n.engine.leading, n.engine.ledger, c.of(n)
	if now.term != term || index == 0 || now.before != nil && index <= now.before.last {
		return
	}
	now.last = min(index, now.last)
	at, known := slices.BinarySearchFunc(h.commitments, term, func(k commitment, t memberstate.Term) int { return cmp.Compare(k.term, t) })
	if known { // one leader writes the term: the ledger is the one that it was
		so := &h.commitments[at].ledger
		so.last = max(so.last, now.last)
		return
	}
	if before := h.committedBefore(term); !now.holds(before) {
		c.violated(LeaderComplete, n, "in term %d it commits up to %d, without what was committed up to %v", term, index, before.end())
		return
	}
	h.commitments = slices.Insert(h.commitments, at, commitment{term, now})
	if len(h.commitments) > mostCommitments {
		h.commitments = slices.Delete(h.commitments, 0, mostCommitments/2)
		h.commitments[0].ledger.forget()
	}
}

// committedBefore is what leaders of terms below this one have committed. One of a
// larger term may be ahead of a leader that comes late.
func (h *history) committedBefore(term memberstate.Term) *ledger {
	for i := range slices.Backward(h.commitments) {
		if k := &h.commitments[i]; k.term < term {
			return &k.ledger
		}
	}
	return new(ledger)
}

// complete looks at the ledger of one that begins to lead.
func (c *checker) complete(n *member) {
	c.counts[LeaderComplete]++
	if before := c.of(n).committedBefore(n.group.Term); !n.engine.ledger.holds(before) {
		c.violated(LeaderComplete, n, "it leads term %d with a ledger up to %v, and up to %v is committed",
			n.group.Term, n.engine.ledger.end(), before.end())
	}
}

// accepts looks at a node whose ledger was changed by an append of a term. What it had of
// the entries that are committed must still be there, if it follows the leader that committed
// them or a later one: it may have been counted for them. A node that does not know of that
// leader yet may hold the same entries by chance, and an older leader may take them away.
func (c *checker) accepts(n *member, before *ledger, term memberstate.Term) {
	c.counts[CommittedStays]++
	n.accepted = max(n.accepted, term)
	last := *c.of(n).committedBefore(n.accepted + 1)
	if last.term == before.term {
		last.last = min(last.last, before.last)
	}
	if before.holds(&last) && !n.engine.ledger.holds(&last) {
		c.violated(CommittedStays, n, "it had what is committed up to %v and accepted term %d; an append of term %d leaves it %v",
			last.end(), n.accepted, term, n.engine.ledger.end())
	}
}
