// Offices: an engine's Lead runs once for a term, in one place, and only while its node
// leads.

package simulation

import "github.com/hustings/hustings/simulation/invariant"

// served looks at an office that begins.
func (c *checker) served(n *member) {
	term := n.group.Term
	r := c.of(n).terms.of(term)
	if r == nil {
		return
	}
	if r.served {
		c.violated(invariant.OneOffice, n, "its engine begins to serve term %d, which n%d's has served", term, r.server)
	}
	r.served, r.server = true, n.index
}

// inOffice looks at a node after a step: whoever has lost its term has been told.
func (c *checker) inOffice(n *member) {
	c.counts[invariant.OneOffice]++
	if serving := n.engine.leading; serving != 0 && (!n.leads() || n.group.Term != serving) {
		c.violated(invariant.OneOffice, n, "its engine serves term %d, and it is %v in term %d", serving, n.group.Role, n.group.Term)
	}
}
