// Leases: at any instant of true time at most one node holds one, and none lasts longer than
// what a majority has promised for it.

package simulation

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// lapsed looks at a leader whose lease has run out.
func (c *checker) lapsed(n *member, term memberstate.Term) {
	if n.alive && !n.paused && !n.group.Waits() && n.leads() && n.group.Term == term {
		c.violated(invariant.LegalStep, n, "its lease in term %d has run out, and it leads on", term)
	}
}

// leased looks at a lease that was just extended, until a time of its holder's clock. It is
// measured from when the world saw the heartbeat leave.
func (c *checker) leased(n *member, until time.Duration) {
	c.counts[invariant.OneLease]++
	o, b := &c.world.options, &n.asking.beats
	from, known := b.covered, b.covered > 0 && b.term == n.lease.term
	if o.majority() == 1 { // nobody else has to promise
		from, known = n.local(), true
	}
	if !known {
		c.violated(invariant.OneLease, n, "it holds a lease in term %d, and no quorum has promised one", n.lease.term)
	} else if longer := until - from - o.leaseLasts(); longer > 0 {
		c.violated(invariant.OneLease, n, "its lease in term %d lasts %v longer than what a quorum has promised", n.lease.term, longer)
	}
	for i := range c.world.nodes {
		other := &c.world.nodes[i].members[n.place]
		if other != n && other.lease.term != 0 && other.lease.until > c.world.now && n.lease.until > c.world.now {
			c.violated(invariant.OneLease, n, "it holds a lease in term %d until %d, and n%d one in term %d until %d",
				n.lease.term, n.lease.until, other.index, other.lease.term, other.lease.until)
		}
	}
}
