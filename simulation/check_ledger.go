// Ledgers: what a quorum has is committed, and every later leader has it, too.

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
	ledger entries
}

// committed notes that all entries up to an index are, if the last of them is of the
// leader's own term: an older one may still be overwritten (Raft, figure 8).
func (c *checker) committed(n *node, index uint64) {
	term, ledger := n.engine.leading, n.engine.ledger
	i := len(ledger) - 1
	if i < 0 || index == 0 || ledger[i].term != term || i > 0 && index <= ledger[i-1].last {
		return
	}
	index = min(index, ledger[i].last)
	at, known := slices.BinarySearchFunc(c.commitments, term, func(k commitment, t memberstate.Term) int { return cmp.Compare(k.term, t) })
	if known { // one leader writes the term: the ledger is the one that it was
		if so := c.commitments[at].ledger; i < len(so) {
			so[i].last = max(so[i].last, index)
		}
		return
	}
	if before := c.committedBefore(term); !ledger.holds(before) {
		c.violated(LeaderComplete, n, "in term %d it commits up to %d, without what was committed up to %v", term, index, before.end())
		return
	}
	now := append(slices.Clone(ledger[:i]), run{term, index})
	c.commitments = slices.Insert(c.commitments, at, commitment{term, now})
}

// committedBefore is what leaders of terms below this one have committed. One of a
// larger term may be ahead of a leader that comes late.
func (c *checker) committedBefore(term memberstate.Term) entries {
	for _, k := range slices.Backward(c.commitments) {
		if k.term < term {
			return k.ledger
		}
	}
	return nil
}

// complete looks at the ledger of one that begins to lead.
func (c *checker) complete(n *node) {
	c.counts[LeaderComplete]++
	if before := c.committedBefore(n.machine.Term); !n.engine.ledger.holds(before) {
		c.violated(LeaderComplete, n, "it leads term %d with a ledger up to %v, and up to %v is committed",
			n.machine.Term, n.engine.ledger.end(), before.end())
	}
}
