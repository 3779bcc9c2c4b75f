// Which entry was lost, for those who read of it: who acknowledged it, and who does not have it.

package simulation

import (
	"fmt"
	"strings"

	"github.com/hustings/hustings/memberstate"
)

// LostEntry is an entry that was committed and that somebody does not have who should.
type LostEntry struct {
	Entry memberstate.Position
	// Committed is the term whose leader committed it.
	Committed memberstate.Term
	// Acknowledged are the indexes of the voters that have acknowledged it, nil if that is too
	// long ago. Missing are those that do not have it now, and the node that has lost it.
	Acknowledged, Missing []int
}

func (l *LostEntry) String() string {
	by := "a majority"
	if l.Acknowledged != nil {
		by = named(l.Acknowledged)
	}
	return fmt.Sprintf("entry %v was committed in term %d and acknowledged by %s, and %s without it", l.Entry, l.Committed, by, are(l.Missing))
}

func are(nodes []int) string {
	if len(nodes) == 1 {
		return named(nodes) + " is"
	}
	return named(nodes) + " are"
}

// named is a list as one would say it.
func named(nodes []int) string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = names[n]
	}
	if last := len(list) - 1; last > 0 {
		return strings.Join(list[:last], ", ") + " and " + list[last]
	}
	return strings.Join(list, "")
}

// misses is violated by a member that lacks a part of what is committed.
func (c *checker) misses(i Invariant, n *member, committed *ledger, format string, args ...any) {
	lost := c.lost(n, n.engine.ledger.lacks(committed))
	c.violated(i, n, "%v: "+format, append([]any{lost}, args...)...)
	if c.violation != nil && c.violation.Lost == nil {
		c.violation.Lost = lost
	}
}

// lost is what is known of a committed entry that a member lacks.
func (c *checker) lost(n *member, entry memberstate.Position) *LostEntry {
	l, h := &LostEntry{Entry: entry, Committed: entry.Term}, c.of(n)
	for i := range h.commitments {
		if k := &h.commitments[i]; k.term >= entry.Term && k.ledger.last >= entry.Index {
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
		ledger := &c.world.nodes[i].members[n.place].engine.ledger
		if (voter || i == n.index) && ledger.has(entry.Term) < entry.Index {
			l.Missing = append(l.Missing, i)
		}
	}
	return l
}
