// Who leads: one incarnation a term, ever, elected by a quorum; and nobody follows
// anyone else.

package check

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// tenure is who led a term.
type tenure struct {
	seat        memberstate.Seat // Nobody: nobody did yet
	node        int
	incarnation uint32
}

func (c *Checker) leads(n *Member, term memberstate.Term) {
	now := tenure{n.Node.Seat, n.Node.Index, n.Node.Incarnation}
	c.Counts[invariant.OneLeader]++
	r := c.of(n).terms.of(term)
	switch {
	case r == nil:
		return
	case r.led == now:
		if r.lost {
			c.Violated(invariant.OneLeader, n, "it led term %d before, and lost it", term)
		}
		return
	}
	if r.led.seat != memberstate.Nobody {
		c.Violated(invariant.OneLeader, n, "term %d was led by n%d, incarnation %d", term, r.led.node, r.led.incarnation)
		return
	}
	r.led = now
	if c.Observes(n.Node.Seat) {
		c.Violated(invariant.ObserverSilent, n, "it leads term %d", term)
	}
	c.wonByQuorum(n, term, r)
	c.complete(n, term)
}

// loses notes that whoever leads a term does not any more: nor will it again.
func (c *Checker) loses(n *Member, term memberstate.Term) {
	if r := c.of(n).terms.of(term); r != nil && r.led == (tenure{n.Node.Seat, n.Node.Index, n.Node.Incarnation}) {
		r.lost = true
	}
	n.asking.beats.term = 0
}

// wonByQuorum counts the votes that have become durable. The world was there each time.
func (c *Checker) wonByQuorum(n *Member, term memberstate.Term, r *termRecord) {
	c.Counts[invariant.WonByQuorum]++
	var votes voters
	for i := range c.Voters {
		if r.votes[i] == n.Node.Seat {
			votes = votes.with(i)
		}
	}
	if votes.count() < c.Majority() {
		c.Violated(invariant.WonByQuorum, n, "it leads term %d with %d durable votes", term, votes.count())
	}
}

// follows: a leader of someone's has won that term.
func (c *Checker) follows(n *Member) {
	m := &n.Group.Machine
	if m.Leader == memberstate.Nobody || m.Leader == n.Node.Seat {
		return
	}
	c.Counts[invariant.FollowsWinner]++
	if r := c.of(n).terms.of(m.Term); r != nil && r.led.seat != m.Leader {
		c.Violated(invariant.FollowsWinner, n, "it follows n%d in term %d, which that has not won", m.Leader-1, m.Term)
	}
}
