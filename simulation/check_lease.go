// Leases: at any instant of true time at most one node holds one.

package simulation

import "github.com/hustings/hustings/memberstate"

// lapsed looks at a leader whose lease has run out.
func (c *checker) lapsed(n *member, term memberstate.Term) {
	if n.alive && !n.paused && !n.group.Waits() && n.leads() && n.group.Term == term {
		c.violated(LegalStep, n, "its lease in term %d has run out, and it leads on", term)
	}
}

// leased looks at a lease that was just extended.
func (c *checker) leased(n *member) {
	c.counts[OneLease]++
	b := &n.promises[n.lease.beat%4]
	if voters := n.rules().Voters; voters.Len() > 1 && (b.number != n.lease.beat || b.asked != n.lease.term || b.accepted.Len() < memberstate.Quorum(voters)) {
		c.violated(OneLease, n, "its lease in term %d runs from beat %d, which %d have answered with a promise", n.lease.term, n.lease.beat, b.accepted.Len())
	}
	for i := range c.world.nodes {
		o := &c.world.nodes[i].members[n.place]
		if o != n && o.lease.term != 0 && o.lease.until > c.world.now && n.lease.until > c.world.now {
			c.violated(OneLease, n, "it holds a lease in term %d until %d, and n%d one in term %d until %d",
				n.lease.term, n.lease.until, o.index, o.lease.term, o.lease.until)
		}
	}
}
