// Who leads: one incarnation a term, ever, elected by a quorum; and nobody follows
// anyone else.

package simulation

import "github.com/hustings/hustings/simulation/invariant"

import "github.com/hustings/hustings/memberstate"

// tenure is who led a term.
type tenure struct {
	seat        memberstate.Seat // Nobody: nobody did yet
	node        int
	incarnation uint32
}

func (c *checker) leads(n *member, term memberstate.Term) {
	now := tenure{n.seat, n.index, n.incarnation}
	c.counts[invariant.OneLeader]++
	r := c.of(n).terms.of(term)
	switch {
	case r == nil:
		return
	case r.led == now:
		if r.lost {
			c.violated(invariant.OneLeader, n, "it led term %d before, and lost it", term)
		}
		return
	}
	if r.led.seat != memberstate.Nobody {
		c.violated(invariant.OneLeader, n, "term %d was led by n%d, incarnation %d", term, r.led.node, r.led.incarnation)
		return
	}
	r.led = now
	if c.world.observes(n.node) {
		c.violated(invariant.ObserverSilent, n, "it leads term %d", term)
	}
	c.wonByQuorum(n, term, r)
	c.complete(n, term)
}

// loses notes that whoever leads a term does not any more: nor will it again.
func (c *checker) loses(n *member, term memberstate.Term) {
	if r := c.of(n).terms.of(term); r != nil && r.led == (tenure{n.seat, n.index, n.incarnation}) {
		r.lost = true
	}
	n.asking.beats.term = 0
}

// wonByQuorum counts the votes that have become durable. The world was there each time.
func (c *checker) wonByQuorum(n *member, term memberstate.Term, r *termRecord) {
	c.counts[invariant.WonByQuorum]++
	var votes voters
	for i := range c.world.options.Members {
		if r.votes[i] == n.seat {
			votes = votes.with(i)
		}
	}
	if votes.count() < c.world.options.majority() {
		c.violated(invariant.WonByQuorum, n, "it leads term %d with %d durable votes", term, votes.count())
	}
}

// follows: a leader of someone's has won that term.
func (c *checker) follows(n *member) {
	m := &n.group.Machine
	if m.Leader == memberstate.Nobody || m.Leader == n.seat {
		return
	}
	c.counts[invariant.FollowsWinner]++
	if r := c.of(n).terms.of(m.Term); r != nil && r.led.seat != m.Leader {
		c.violated(invariant.FollowsWinner, n, "it follows n%d in term %d, which that has not won", m.Leader-1, m.Term)
	}
}
