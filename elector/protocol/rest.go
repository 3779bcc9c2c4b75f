// Leaders that rest (D16): an idle group costs no message and no alarm.
//
// A leader whose followers are bonded leaves the heartbeats to its node. It rests in a cohort, with all
// groups of the node that have the same members, rules and bonded followers. What their machines would
// count, from the answers to their heartbeats, is the same for all of them. So it is counted once, by the
// time at which the newest beat was sent that a quorum of nodes has answered.
//
// Whatever happens to such a group wakes it first: its machine is brought to the state in which it would
// be if it had beaten all the time, and then it takes the step. A leader that no quorum answers is woken
// when it would have lost its office.

package protocol

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// cohort is groups that this node leads, and that rest.
type cohort struct {
	electorate *Electorate
	rules      *Rules
	seats      memberstate.Set // of the bonded followers
	peers      []*peer         // their nodes
	confirmed  time.Duration   // when the newest beat was sent that a quorum has answered
	groups     places
	called     time.Duration // until when groups have been woken for a member that is there again; 0: there is none
}

// mayRest says whether a leader whose alarm rings may rest instead of beating.
func (n *Node) mayRest(g *Group) bool {
	o := g.offers()
	if o == nil || g.Role != memberstate.Leader || !n.mayBond(g) || g.transient() != nil || !g.idle(g.Rules, n.now) {
		return false
	}
	n.countPresent(g)
	n.doWithoutSilent(g)
	for seat := range (g.everyoneElse() &^ o.taken).Seats() {
		if n.needsHeartbeats(g, seat) {
			return false
		}
	}
	if !g.answeredBy(o.taken&g.Rules.Voters, g.Rules) {
		return false
	}
	for seat := range o.taken.Seats() {
		if p := n.peerOf(g, seat); p.link.answered <= o.since {
			return false
		}
	}
	confirmed, ok := n.confirmed(g, o.taken)
	return ok && n.now-confirmed < 2*g.Rules.Timing.Heartbeat
}

// doWithoutSilent has a leader not count on followers whose nodes are silent. It would wait for their answers,
// and beat, as long as they are gone. When such a node speaks again, the leader is called.
func (n *Node) doWithoutSilent(g *Group) {
	o := g.offers()
	for seat := range o.taken.Seats() {
		if n.silent(n.peerOf(g, seat)) {
			o.taken = o.taken.Without(seat)
		}
	}
}

// silent says whether a node that has exchanged beats with this one does so no more.
func (n *Node) silent(p *peer) bool { return n.now-p.spokeAt >= countsPresent*n.beats.every }

// deaf says whether a node speaks, but does not hear this one. Heartbeats would not reach it either, and it says so when
// that is over.
func (n *Node) deaf(p *peer) bool { return p.deaf && !n.silent(p) }

// needsHeartbeats says whether a member that is not bonded may be there. It is there if it has answered lately,
// or if its node speaks. A node that has exchanged beats and is silent is gone, or exchanges none any more; then
// its voter is heard when it asks for votes. So is a voter of which nothing is known; an observer would not be.
func (n *Node) needsHeartbeats(g *Group, seat memberstate.Seat) bool {
	o, p := g.offers(), n.peerOf(g, seat)
	switch {
	case n.deaf(p):
		return false
	case o.present.Has(seat), o.before.Has(seat):
		return true
	case p.link.peer != 0:
		return !n.silent(p)
	}
	return !g.Rules.PreVote || !g.Rules.Voters.Has(seat)
}

// countPresent counts who is there, when the leader's alarm rings.
func (n *Node) countPresent(g *Group) {
	o := g.offers()
	if o.rings++; o.rings == countsPresent {
		o.before, o.present, o.rings = o.present, 0, 0
	}
}

// confirmed is when the newest beat was sent that the nodes of a quorum have answered, if these followers'
// nodes answer for them.
func (n *Node) confirmed(g *Group, seats memberstate.Set) (at time.Duration, ok bool) {
	others := g.Rules.quorum() - 1
	if others == 0 {
		return n.now, true
	}
	var times []time.Duration
	for seat := range (seats & g.Rules.Voters).Seats() {
		times = append(times, n.peerOf(g, seat).answeredAt)
	}
	if len(times) < others {
		return 0, false
	}
	slices.Sort(times)
	at = times[len(times)-others]
	return at, at > 0
}

// rest has a leader rest.
func (n *Node) rest(g *Group) {
	o := g.offers()
	n.beats.awake.drop(g)
	n.alarms.remove(g)
	i := slices.IndexFunc(n.beats.rest, func(c *cohort) bool {
		return c.electorate == g.Electorate && c.rules == g.Rules && c.seats == o.taken
	})
	if i < 0 {
		c := &cohort{electorate: g.Electorate, rules: g.Rules, seats: o.taken}
		for seat := range o.taken.Seats() {
			c.peers = append(c.peers, n.peerOf(g, seat))
		}
		c.confirmed, _ = n.confirmed(g, o.taken)
		i, n.beats.rest = len(n.beats.rest), append(n.beats.rest, c)
	}
	g.cohort = n.beats.rest[i]
	g.cohort.groups.add(g)
	g.settle(g.Rules)
	n.toPack(g)
	n.prolong(g)
}

// prolong extends the lease of a leader that rests.
func (n *Node) prolong(g *Group) {
	r := g.Rules
	if r.Lease == 0 {
		return
	}
	switch until := g.cohort.confirmed + r.Lease - r.Timing.DriftMargin; {
	case g.desk != nil:
		n.fx.group = g
		g.prolong(until, n.now, &n.fx)
	case n.now < g.packed.until && g.packed.until < until:
		g.packed.until = until
		g.engine.Hold(until)
	}
}

// losesQuorum is when leaders that rest would have lost their offices, if nobody answers any more.
func (c *cohort) losesQuorum(now time.Duration) time.Duration {
	r := c.rules
	if r.quorum() == 1 {
		return now + r.Timing.Detection() // never
	}
	return c.confirmed + time.Duration(r.Timing.Leak+1)*r.Timing.Heartbeat
}

// confirm counts the answer of a node.
func (n *Node) confirm(p *peer) {
	for _, c := range n.beats.rest {
		if !slices.Contains(c.peers, p) {
			continue
		}
		at, ok := n.confirmed(c.groups[0], c.seats)
		if !ok || at <= c.confirmed {
			continue
		}
		if c.confirmed = at; c.rules.Lease == 0 {
			continue
		}
		for _, g := range c.groups {
			n.prolong(g)
		}
	}
}

// wake has a leader that rests beat by itself again.
func (n *Node) wake(g *Group) {
	if !g.Rests() {
		return
	}
	n.open(g)
	o, c, r := g.offers(), g.cohort, g.Rules
	confirmed := c.confirmed
	if r.quorum() == 1 {
		confirmed = n.now
	}
	var answered memberstate.Set
	for seat := range (c.seats & r.Voters).Seats() {
		if n.peerOf(g, seat).answeredAt >= confirmed {
			answered = answered.With(seat)
		}
	}
	// It beats at once, unless the next beat is not due yet, or the office is lost.
	since, due := int((n.now-confirmed)/r.Timing.Heartbeat), n.now
	missed := min(max(since-1, 0), r.Timing.Leak)
	if since == 0 {
		due = confirmed + r.Timing.Heartbeat
	}
	c.drop(n, g)
	g.cohort, o.taken = nil, c.seats
	n.expectUnknown(g)
	n.beats.awake.add(g)
	g.goOnBeating(r, c.seats, answered, confirmed, missed)
	n.alarms.set(g, due)
}

// wakeAll does so for a cohort.
func (n *Node) wakeAll(c *cohort) {
	for len(c.groups) > 0 {
		n.wake(c.groups[len(c.groups)-1])
	}
}

// restsWithout has leaders rest without a follower, and says whether they can.
func (n *Node) restsWithout(c *cohort, p *peer) bool {
	seats := c.seats.Without(c.electorate.Members.Seat(p.id))
	confirmed, ok := n.confirmed(c.groups[0], seats)
	if !ok || n.now-confirmed >= 2*c.rules.Timing.Heartbeat {
		return false
	}
	c.confirmed = confirmed // which may be earlier
	c.seats, c.peers = seats, slices.DeleteFunc(c.peers, func(other *peer) bool { return other == p })
	return true
}

// callEvery is how often a leader that rests is woken, of those that a returning member calls. When a node
// comes back, all of them would send it heartbeats at once, more than it has room for.
const callEvery = 50 * time.Microsecond

// call wakes the leaders that rest without their member at a node, one after another, because the node is
// there again.
func (n *Node) call(p *peer) {
	if p.deaf {
		return
	}
	for _, c := range n.beats.rest {
		if seat := c.electorate.Members.Seat(p.id); c.called == 0 && c.rules.All.Has(seat) && !c.seats.Has(seat) {
			c.called = n.now
		}
	}
}

// callSome wakes as many leaders as it is time for.
func (n *Node) callSome(c *cohort) {
	for ; c.called+callEvery <= n.now && len(c.groups) > 0; c.called += callEvery {
		n.wake(c.groups[len(c.groups)-1])
	}
}

// drop takes a group out of its cohort. A cohort without groups is dropped, too.
func (c *cohort) drop(n *Node, g *Group) {
	if c.groups.drop(g); len(c.groups) == 0 {
		n.beats.rest = slices.DeleteFunc(n.beats.rest, func(other *cohort) bool { return other == c })
	}
}

// quorumAge is how long ago a leader sent the newest heartbeat, or its node the newest beat, that a quorum
// has answered.
func (n *Node) quorumAge(g *Group) time.Duration {
	if g.Rests() {
		return n.now - g.cohort.confirmed
	}
	s := g.Peek()
	return s.QuorumAge(g.Rules, n.now)
}
