// The lease of leaders that rest (D16): they share one for each cohort, so a beat costs one renewal for all of them.
//
// A beat that a quorum has answered is a heartbeat, with its promises, in every group of the cohort. So the lease from it
// is the same for all of them: it ends a detection time after the beat was sent, less the drift margin (D11). A group
// has its own lease, from its last heartbeats, beside it, until that ends; the later of the two ends counts. What keeps
// this sound:
//
//   - A group leaves first. Whatever happens to a group wakes it before anything else is done, be it a departure of a
//     follower, a handover or the end of its term, and waking it takes it out of the shared lease (unshare). From then on
//     its own lease lasts until the shared one lasted at that moment, for which its followers have promised, and no beat
//     extends it any more. A handover and the end of an office then end that lease, as they do for every leader (D14).
//   - Who joins has those promises. A group joins a cohort only if the shared lease is no longer than a lease from the
//     newest beat that its own followers have answered, as they are at that moment (admits). That is not always so: when
//     a cohort goes on without a follower, the others may have answered only an earlier beat. Its groups keep what they
//     were given, because the follower that is gone has promised it to them, but not to a group that joins now.
//   - It is not taken back. For the same reason its end stays where it is while the cohort counts from an earlier beat:
//     an engine may have read it, and serve until then.
//   - A lease that has run out is not extended. Neither the shared one, because engines may have been told that they have
//     none: its groups lose their offices, and no group joins (renew, lapse). Nor that of a group by joining, because a
//     group with a lease that is over does not rest (idle).

package protocol

import "time"

// leaseFrom is until when a lease lasts that a beat has earned which was sent at a time.
func (r *Rules) leaseFrom(sent time.Duration) time.Duration {
	return sent + r.Lease - r.Timing.DriftMargin
}

// admits says whether a leader may join, if the newest beat that a quorum of its own followers has answered was sent at
// that time.
func (c *cohort) admits(confirmed, now time.Duration) bool {
	return c.rules.Lease == 0 || !c.over && c.lease.Holds(now) && time.Duration(c.lease) <= c.rules.leaseFrom(confirmed)
}

// beginLease begins the lease of a new cohort.
func (n *Node) beginLease(c *cohort) {
	if c.rules.Lease > 0 {
		c.lease = Expiry(c.rules.leaseFrom(c.confirmed))
		n.beats.edge.HoldShared(c.number, time.Duration(c.lease))
	}
}

// renew extends the lease of a cohort by the newest beat that a quorum has answered.
func (n *Node) renew(c *cohort) {
	if c.rules.Lease == 0 || c.over {
		return
	}
	if until := c.lease.Extended(c.rules.leaseFrom(c.confirmed), n.now); until != c.lease {
		c.lease = until
		n.beats.edge.HoldShared(c.number, time.Duration(until))
	}
}

// endLease ends the lease of a cohort that has no groups any more.
func (n *Node) endLease(c *cohort) {
	if c.rules.Lease > 0 {
		n.beats.edge.HoldShared(c.number, 0)
	}
}

// share has a leader that begins to rest share its cohort's lease.
func (n *Node) share(g *Group) {
	if g.Rules.Lease > 0 {
		g.engine.Share(g.cohort.number)
	}
}

// unshare has a leader hold its lease by itself again, if it has not lost it. The group is open.
func (n *Node) unshare(g *Group) {
	if l := &g.duties.lease; l.until != 0 && !l.over {
		l.until = g.LeaseEnd()
		g.engine.Hold(l.until)
	}
}

// LeaseEnd is until when the lease of a leader lasts that rests; zero if it has none.
func (g *Group) LeaseEnd() time.Duration {
	own := time.Duration(0)
	switch {
	case g.desk != nil:
		own = g.duties.lease.until
	case g.packed != nil:
		own = g.packed.until
	}
	return time.Duration(Expiry(own).With(g.cohort.lease))
}

// leaseLeft is how much longer a group's lease lasts; zero if it holds none.
func (n *Node) leaseLeft(g *Group) time.Duration {
	if g.Rests() {
		return max(0, g.LeaseEnd()-n.now)
	}
	s := g.Peek()
	return s.LeaseLeft(n.now)
}

// SharedLeaseOver tells the node that the lease of a cohort has run out.
func (n *Node) SharedLeaseOver(number uint32) {
	for _, c := range n.beats.rest {
		if c.number == number {
			c.over = true
			n.lapse(c)
			return
		}
	}
}

// lapse has leaders lose their offices whose shared lease has run out, as many as a turn may handle. A group whose own
// lease lasts longer goes on by itself.
func (n *Node) lapse(c *cohort) {
	for range min(usualTurn, len(c.groups)) {
		g := c.groups[len(c.groups)-1]
		n.open(g)
		if g.LeaseEnd() <= n.now {
			g.LeaseOver(g.Term)
		}
		n.wake(g)
		n.attend(g)
	}
}
