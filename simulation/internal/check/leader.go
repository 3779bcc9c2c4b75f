// Leaders: at most one incarnation ever leads a term, elected by a quorum, and no member follows
// another one.

package check

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// tenure says which incarnation led a term.
type tenure struct {
	seat        memberstate.Seat // Nobody: none has yet
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
			c.Violated(invariant.OneLeader, n, "it leads term %d again after it had lost it", term)
		}
		return
	}
	if r.led.seat != memberstate.Nobody {
		c.Violated(invariant.OneLeader, n, "term %d was led by n%d, incarnation %d", term, r.led.node, r.led.incarnation)
		return
	}
	r.led, r.ledAt = now, *c.now
	if c.Observes(n.Node.Seat) {
		c.Violated(invariant.ObserverSilent, n, "it leads term %d", term)
	}
	c.wonByQuorum(n, term, r)
	c.complete(n, term)
}

// loses notes that a member leads a term no more. It must not lead that term again.
func (c *Checker) loses(n *Member, term memberstate.Term) {
	if r := c.of(n).terms.of(term); r != nil && r.led == (tenure{n.Node.Seat, n.Node.Index, n.Node.Incarnation}) {
		r.lost = true
	}
	n.asking.beats.term = 0
}

// wonByQuorum counts the votes that have become durable, as Kept has noted them.
func (c *Checker) wonByQuorum(n *Member, term memberstate.Term, r *termRecord) {
	c.Counts[invariant.WonByQuorum]++
	var votes voters
	for i := range c.Voters {
		if r.votes[i] == n.Node.Seat {
			votes = votes.with(i)
		}
	}
	if !Elected(votes.count(), c.Voters) {
		c.Violated(invariant.WonByQuorum, n, "it leads term %d with %d durable votes", term, votes.count())
	}
}

// follows checks that the leader that a member follows has won the term.
func (c *Checker) follows(n *Member) {
	m := n.Group.State()
	if m.Leader == memberstate.Nobody || m.Leader == n.Node.Seat {
		return
	}
	c.Counts[invariant.FollowsWinner]++
	if r := c.of(n).terms.of(m.Term); r != nil && !FollowsWinner(m.Leader, memberstate.SetOf(r.led.seat)) {
		c.Violated(invariant.FollowsWinner, n, "it follows n%d, which has not won term %d", m.Leader-1, m.Term)
	}
}
