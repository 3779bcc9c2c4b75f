// Offices: an engine's Lead runs once for a term, at one node, and only while that node leads.

package check

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// office is the member's and its engine's. A lease that ends at this moment may have to be told of its end yet.
func (c *Checker) office(n *Member) Office {
	e, s := n.Engine, n.Group.State()
	return Office{
		Term: s.Term, Lead: e.Served, Runs: e.Running != 0, Ended: e.Leading == 0,
		Serves: s.Role == memberstate.Leader && (n.Rules.Lease == 0 || n.Lease.Term == s.Term && n.Lease.Until >= *c.now),
	}
}

// broken notes a breach, if it is one.
func (c *Checker) broken(n *Member, b Breach) {
	if !b.None() {
		c.Violated(b.Broken, n, "%s", b.What)
	}
}

// Serves checks an office that begins.
func (c *Checker) Serves(n *Member, term memberstate.Term) {
	office := c.office(n)
	c.broken(n, office.Begins(term))
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

// Leaves checks an office whose Lead is told to return.
func (c *Checker) Leaves(n *Member, term memberstate.Term) {
	office := c.office(n)
	c.broken(n, office.Ends(term))
}

// inOffice checks a member after a turn: if it has lost its term, its engine must not serve, and if it may serve, it does.
func (c *Checker) inOffice(n *Member) {
	c.Counts[invariant.OneOffice]++
	if office := c.office(n); !n.Group.Waits() || !office.Serves {
		c.broken(n, office.Goes())
	}
}
