// Which states of a group a search has reached, so that it can go where it has not been.

package simulation

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/choice"
)

// coverage is the set of abstract states that runs have reached: of every node its role,
// whether it runs, whether it voted for and follows itself or another, and its term next
// to the largest; whichever node it is. A state has a place in a table of fixed size. The
// states of all groups are in one table, whichever group it is.
type coverage struct {
	seen   []uint64     // bits
	found  []uint32     // the places whose bits are set
	groups []groupState // by group
}

// groupState is what the nodes of a group are now.
type groupState struct {
	codes [maxNodes]uint16
	terms [maxNodes]memberstate.Term
	most  memberstate.Term
}

const coverageBits = 1 << 23

func newCoverage() *coverage { return &coverage{seen: make([]uint64, coverageBits/64)} }

// look notes the state after a member has changed.
func (c *coverage) look(n *member) {
	if missing := n.Place + 1 - len(c.groups); missing > 0 {
		c.groups = append(c.groups, make([]groupState, missing)...)
	}
	g, code := &c.groups[n.Place], n.code()
	if g.codes[n.Index] == code && g.terms[n.Index] == n.group.Term {
		return
	}
	g.codes[n.Index], g.terms[n.Index] = code, n.group.Term
	g.most = max(g.most, n.group.Term)
	sum := uint64(len(n.world.nodes))
	for i := range n.world.nodes {
		behind := min(g.most-g.terms[i], 3)
		sum += choice.Scramble(uint64(g.codes[i])<<2 | uint64(behind)) // a sum: which node it is does not matter
	}
	c.add(uint32(choice.Scramble(sum) % coverageBits))
}

// code is what a node is, but for its term.
func (m *member) code() uint16 {
	g := &m.group.Machine
	whom := func(s memberstate.Seat) uint16 {
		switch s {
		case memberstate.Nobody:
			return 0
		case m.Seat:
			return 1
		default:
			return 2
		}
	}
	code := uint16(g.Role)<<4 | whom(g.Vote)<<2 | whom(g.Leader)
	if code <<= 1; m.Alive {
		code |= 1
	}
	return code
}

// add enters a place, and says whether it is new.
func (c *coverage) add(place uint32) bool {
	bit := uint64(1) << (place % 64)
	if c.seen[place/64]&bit != 0 {
		return false
	}
	c.seen[place/64] |= bit
	c.found = append(c.found, place)
	return true
}

// clear forgets everything.
func (c *coverage) clear() {
	for _, place := range c.found {
		c.seen[place/64] = 0
	}
	*c = coverage{seen: c.seen, found: c.found[:0]}
}
