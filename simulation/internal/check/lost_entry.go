// Which committed entry was lost: who acknowledged it, and who lacks it.

package check

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/ledger"
	"github.com/hustings/hustings/simulation/invariant"
)

// misses is Violated by a member that lacks a committed entry.
func (c *Checker) misses(i invariant.Invariant, n *Member, committed *ledger.Ledger, format string, args ...any) {
	lost := c.lost(n, n.Engine.Ledger.Lacks(committed))
	c.Violated(i, n, "%v: "+format, append([]any{lost}, args...)...)
	if c.Violation != nil && c.Violation.Lost == nil {
		c.Violation.Lost = lost
	}
}

// lost is what is known of a committed entry that a member lacks.
func (c *Checker) lost(n *Member, entry memberstate.Position) *invariant.LostEntry {
	l, h := &invariant.LostEntry{Entry: entry, Committed: entry.Term}, c.of(n)
	for i := range h.commitments {
		if k := &h.commitments[i]; k.term >= entry.Term && k.ledger.Last >= entry.Index {
			l.Committed = k.term
			break
		}
	}
	t := &h.tallies[l.Committed%memberstate.Term(len(h.tallies))]
	for i, other := range h.members {
		voter := c.votes(i)
		if voter && t.term == l.Committed && t.has[i] >= entry.Index {
			l.Acknowledged = append(l.Acknowledged, i)
		}
		if (voter || i == n.Node.Index) && !other.Engine.Ledger.Has(entry) {
			l.Missing = append(l.Missing, i)
		}
	}
	return l
}
