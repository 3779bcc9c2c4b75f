// Ledgers: an entry that a quorum has accepted is committed; every later leader has it, and no node
// that has acknowledged it loses it.

package check

import (
	"cmp"
	"slices"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/ledger"
	"github.com/hustings/hustings/simulation/invariant"
)

// commitment is what was committed by the end of a term.
type commitment struct {
	term   memberstate.Term
	ledger ledger.Ledger
}

// mostCommitments bounds how many are kept. A leader of a term before the oldest of them is not
// checked.
const mostCommitments = 128

// tally is how many of the entries that the leader of a term has written each voter has accepted in
// that term. An entry counts as soon as it is in a ledger, even if the leader does not know yet.
type tally struct {
	term      memberstate.Term
	committed uint64
	has       [MaxVoters]uint64 // by index, the last entry
}

// tallies are the tallies of the newest terms. Appends of older terms are late and rare.
type tallies [8]tally

// has counts an append that is in a ledger. An entry that a majority has accepted from the
// leader that wrote it is committed, and so are all entries before it. An older entry alone may still
// be overwritten (Raft, figure 8).
func (c *Checker) has(n *Member, term memberstate.Term) {
	now, h := &n.Engine.Ledger, c.of(n)
	t := &h.tallies[term%memberstate.Term(len(h.tallies))]
	if now.Term != term || term < t.term || !c.votes(n.Node.Index) {
		return
	}
	if term > t.term {
		*t = tally{term: term}
	}
	if t.has[n.Node.Index] = max(t.has[n.Node.Index], now.Last); now.Last <= t.committed {
		return
	}
	if all := c.reaches(t.has[:]); all > t.committed {
		t.committed = all
		c.committed(n, all)
	}
}

// committed notes that all entries of a ledger up to an index are committed.
func (c *Checker) committed(n *Member, index uint64) {
	now, h := n.Engine.Ledger, c.of(n)
	now.Last = index
	term := now.Term
	at, known := slices.BinarySearchFunc(h.commitments, term, func(k commitment, t memberstate.Term) int { return cmp.Compare(k.term, t) })
	if known { // one leader writes the term, so it is the same ledger
		so := &h.commitments[at].ledger
		so.Last = max(so.Last, now.Last)
		return
	}
	if before := h.committedBefore(term); !now.Holds(before) {
		c.misses(invariant.LeaderComplete, n, before, "entries of term %d are committed up to %d without it", term, index)
		return
	}
	h.commitments = slices.Insert(h.commitments, at, commitment{term, now})
	if len(h.commitments) > mostCommitments {
		h.commitments = slices.Delete(h.commitments, 0, mostCommitments/2)
		h.commitments[0].ledger.Forget()
	}
}

// Commits checks which entries a leading engine considers committed, from the acknowledgements by
// index of the follower: a majority must have them.
func (c *Checker) Commits(n *Member, acknowledged []uint64) {
	index := c.reaches(acknowledged)
	term, now := n.Engine.Leading, &n.Engine.Ledger
	if now.Term != term || index == 0 || now.Before != nil && index <= now.Before.Last {
		return
	}
	c.Counts[invariant.CommittedStays]++
	h := c.of(n)
	if t := &h.tallies[term%memberstate.Term(len(h.tallies))]; t.term == term && index > t.committed {
		c.Violated(invariant.CommittedStays, n, "in term %d it treats entries up to %d as committed, but a majority has them only up to %d", term, index, t.committed)
	}
}

// committedBefore is what leaders of smaller terms have committed. The leader of a larger term may
// already have committed more.
func (h *history) committedBefore(term memberstate.Term) *ledger.Ledger {
	for i := range slices.Backward(h.commitments) {
		if k := &h.commitments[i]; k.term < term {
			return &k.ledger
		}
	}
	return new(ledger.Ledger)
}

// complete checks the ledger of a member that begins to lead.
func (c *Checker) complete(n *Member, term memberstate.Term) {
	c.Counts[invariant.LeaderComplete]++
	if before := c.of(n).committedBefore(term); !n.Engine.Ledger.Holds(before) {
		c.misses(invariant.LeaderComplete, n, before, "it leads term %d with a ledger that ends at %v", term, n.Engine.Ledger.End())
	}
}

// Accepts checks a member whose ledger was changed by an append of a term. The committed entries that
// it had must still be there if it has accepted an append of the leader that committed them, or of
// a later one, because it may have been counted for them. Else it may have the same entries by
// chance, and an older leader may overwrite them.
func (c *Checker) Accepts(n *Member, before *ledger.Ledger, term memberstate.Term) {
	c.Counts[invariant.CommittedStays]++
	n.accepted = max(n.accepted, term)
	last := *c.of(n).committedBefore(n.accepted + 1)
	if last.Term == before.Term {
		last.Last = min(last.Last, before.Last)
	}
	if before.Holds(&last) && !n.Engine.Ledger.Holds(&last) {
		c.misses(invariant.CommittedStays, n, &last, "it had accepted term %d, and after an append of term %d its ledger ends at %v",
			n.accepted, term, n.Engine.Ledger.End())
	}
	c.has(n, term)
}
