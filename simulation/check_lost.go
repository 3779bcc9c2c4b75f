// Which committed entry was lost: who acknowledged it, and who lacks it.

package simulation

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/ledger"
	"github.com/hustings/hustings/simulation/invariant"
)

// misses is violated by a member that lacks a part of what is committed.
func (c *checker) misses(i invariant.Invariant, n *member, committed *ledger.Ledger, format string, args ...any) {
	lost := c.lost(n, n.engine.ledger.Lacks(committed))
	c.violated(i, n, "%v: "+format, append([]any{lost}, args...)...)
	if c.violation != nil && c.violation.Lost == nil {
		c.violation.Lost = lost
	}
}

// lost is what is known of a committed entry that a member lacks.
func (c *checker) lost(n *member, entry memberstate.Position) *invariant.LostEntry {
	l, h := &invariant.LostEntry{Entry: entry, Committed: entry.Term}, c.of(n)
	for i := range h.commitments {
		if k := &h.commitments[i]; k.term >= entry.Term && k.ledger.Last >= entry.Index {
			l.Committed = k.term
			break
		}
	}
	t := &h.tallies[l.Committed%memberstate.Term(len(h.tallies))]
	for i := range c.world.nodes {
		voter := i < c.world.options.Members
		if voter && t.term == l.Committed && t.has[i] >= entry.Index {
			l.Acknowledged = append(l.Acknowledged, i)
		}
		of := &c.world.nodes[i].members[n.place].engine.ledger
		if (voter || i == n.index) && of.Has(entry.Term) < entry.Index {
			l.Missing = append(l.Missing, i)
		}
	}
	return l
}
