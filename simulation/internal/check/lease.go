// Leases: at any instant of true time at most one node holds one, and none lasts longer than
// what a majority has promised for it.

package check

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// Lapsed checks a leader whose lease has run out.
func (c *Checker) Lapsed(n *Member, term memberstate.Term) {
	if n.Node.Alive && !n.Node.Paused && !n.Group.Waits() && n.Leads() && n.Group.State().Term == term {
		c.Violated(invariant.LegalStep, n, "it still leads although its lease in term %d has run out", term)
	}
}

// RunsOut checks a lone voter whose lease runs out. It needs nobody to extend it, so it does not, unless its process has
// stood still or is slow, or a step of it waits.
func (c *Checker) RunsOut(n *Member) {
	if c.Majority() > 1 || n.Node.Sluggish > 0 || n.Group.Waits() || c.ailed(n, n.Lease.Term) {
		return
	}
	c.Counts[invariant.LeaderHeard]++
	if *c.now-max(n.asking.awake, n.Node.Quick) > int64(n.Rules.Lease) {
		c.Violated(invariant.LeaderHeard, n, "its lease in term %d runs out, although it needs nobody to extend it", n.Lease.Term)
	}
}

// Leased checks a lease that was just extended, until a time of its holder's clock, which now
// shows local. The promises are measured from when the heartbeat left that asked for them.
func (c *Checker) Leased(n *Member, until, local time.Duration) {
	c.Counts[invariant.OneLease]++
	b := &n.asking.beats
	promised, known := b.covered, b.covered > 0 && b.term == n.Lease.Term
	if c.Majority() == 1 { // it promises to itself, by the rules that it has then
		b.covered = max(b.covered, local+n.Rules.Lease)
		promised, known = b.covered, true
	}
	if !known {
		c.Violated(invariant.OneLease, n, "it holds a lease in term %d that no quorum has promised", n.Lease.Term)
	} else if longer := until - promised + n.Rules.Timing.DriftMargin; longer > 0 {
		c.Violated(invariant.OneLease, n, "its lease in term %d lasts %v longer than a quorum has promised", n.Lease.Term, longer)
	}
	for i, other := range c.of(n).members {
		if other != n && other.Lease.Term != 0 && Overlap(other.Lease.Until, n.Lease.Until, *c.now) {
			c.Violated(invariant.OneLease, n, "it holds a lease in term %d until %d while n%d holds one in term %d until %d",
				n.Lease.Term, n.Lease.Until, i, other.Lease.Term, other.Lease.Until)
		}
	}
}
