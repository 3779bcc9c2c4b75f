// Which states of a group a search has reached, so that it can look for others.

package search

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/internal/choice"
)

// Coverage is the set of abstract states that runs have reached: of every node a code, and how far
// its term is behind the largest one, without the names of the nodes. A state has a place in a table
// of fixed size. The states of all groups are in one table, without the names of the groups.
type Coverage struct {
	Found []uint32 // the places of the states that were reached

	seen   []uint64     // a bit for each place
	groups []groupState // by group
}

// groupState is what the nodes of a group are now.
type groupState struct {
	codes [check.MaxNodes]uint16
	terms [check.MaxNodes]memberstate.Term
	most  memberstate.Term
}

const coverageBits = 1 << 23

// NewCoverage is that of no runs.
func NewCoverage() *Coverage { return &Coverage{seen: make([]uint64, coverageBits/64)} }

// Look notes the state of a group after one of its nodes has changed. Code is the abstract state
// that the node now has, and term its term; nodes is how many nodes there are.
func (c *Coverage) Look(group, node, nodes int, code uint16, term memberstate.Term) {
	if missing := group + 1 - len(c.groups); missing > 0 {
		c.groups = append(c.groups, make([]groupState, missing)...)
	}
	g := &c.groups[group]
	if g.codes[node] == code && g.terms[node] == term {
		return
	}
	g.codes[node], g.terms[node] = code, term
	g.most = max(g.most, term)
	sum := uint64(nodes)
	for i := range nodes {
		behind := min(g.most-g.terms[i], 3)
		sum += choice.Scramble(uint64(g.codes[i])<<2 | uint64(behind)) // a sum: which node it is does not matter
	}
	c.Add(uint32(choice.Scramble(sum) % coverageBits))
}

// Add enters a place, and says whether it is new.
func (c *Coverage) Add(place uint32) bool {
	bit := uint64(1) << (place % 64)
	if c.seen[place/64]&bit != 0 {
		return false
	}
	c.seen[place/64] |= bit
	c.Found = append(c.Found, place)
	return true
}

// Clear forgets everything.
func (c *Coverage) Clear() {
	for _, place := range c.Found {
		c.seen[place/64] = 0
	}
	*c = Coverage{seen: c.seen, Found: c.Found[:0]}
}
