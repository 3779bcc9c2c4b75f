// Offices: an engine's Lead runs once for a term, at one node, and only while that node leads.

package check

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// Served checks an office that begins.
func (c *Checker) Served(n *Member) {
	term := n.Group.State().Term
	r := c.of(n).terms.of(term)
	if r == nil {
		return
	}
	if r.served {
		c.Violated(invariant.OneOffice, n, "its engine begins to serve term %d, which n%d's engine has served", term, r.server)
	}
	r.served, r.server = true, n.Node.Index
}

// AsksLedger checks a member that asks its engine where its ledger ends. From then on the engine accepts nothing of an
// earlier term, so it must not serve one.
func (c *Checker) AsksLedger(n *Member, term memberstate.Term) {
	if serving := n.Engine.Leading; serving != 0 && serving < term {
		c.Violated(invariant.OneOffice, n, "its engine serves term %d, and is asked to accept nothing before term %d", serving, term)
	}
}

// inOffice checks a member after a step: if it has lost its term, its engine must not serve.
func (c *Checker) inOffice(n *Member) {
	c.Counts[invariant.OneOffice]++
	if serving := n.Engine.Leading; serving != 0 && (!n.Leads() || n.Group.State().Term != serving) {
		c.Violated(invariant.OneOffice, n, "its engine serves term %d, but the member is %v in term %d", serving, n.Group.State().Role, n.Group.State().Term)
	}
}
