// Leaders that rest (D16): an idle group costs no message and no alarm.
//
// A leader whose followers are bonded leaves the heartbeats to its node. It rests in a cohort, with all
// groups of the node that have the same members, rules and bonded followers. What their machines would
// count, from the answers to their heartbeats, is the same for all of them. So it is counted once, by the
// time at which the newest beat was sent that a quorum of nodes has answered. At first the leader's last own
// heartbeat may be newer than that, and then this one counts.
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
	number     uint32 // from 1, never used again
	electorate *Electorate
	rules      *Rules
	seats      memberstate.Set // of the bonded followers
	peers      []*peer         // their nodes
	confirmed  time.Duration   // when the newest beat was sent that a quorum has answered
	lease      Expiry          // until when the lease lasts that the groups share; 0: they have none. See shared_lease.go
	over       bool            // it has run out
	groups     places
	called     time.Duration // until when groups have been woken for a member that is there again; 0: there is none
}

// mayRest says whether a leader whose alarm rings may rest instead of beating.
func (n *Node) mayRest(g *Group) bool {
	o := g.offers()
	if o == nil || g.Role != memberstate.Leader || !n.mayBond(g) || g.transient() != nil || !g.OfOffice(g.HeardBeat()) || !g.idle(g.Rules, n.now, g.duty().lease.until) {
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
	return ok && n.now-confirmed < 2*g.Rules.Timing.Heartbeat && (g.Rules.Lease == 0 || n.now < g.Rules.leaseFrom(confirmed))
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
// or if its node speaks. A node that has exchanged beats and is silent is gone, unless it is mute.
// A voter of which nothing is known is heard when it asks for votes; an observer would not be.
func (n *Node) needsHeartbeats(g *Group, seat memberstate.Seat) bool {
	o, p := g.offers(), n.peerOf(g, seat)
	switch {
	case n.deaf(p):
		return false
	case o.present.Has(seat), o.before.Has(seat):
		return true
	case p.link.peer != 0:
		return !n.silent(p) || n.mute(p)
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
	confirmed, _ := n.confirmed(g, o.taken)
	i := slices.IndexFunc(n.beats.rest, func(c *cohort) bool {
		return c.electorate == g.Electorate && c.rules == g.Rules && c.seats == o.taken && c.admits(confirmed, n.now)
	})
	if i < 0 {
		n.beats.newest++
		c := &cohort{number: n.beats.newest, electorate: g.Electorate, rules: g.Rules, seats: o.taken, confirmed: confirmed}
		for seat := range o.taken.Seats() {
			c.peers = append(c.peers, n.peerOf(g, seat))
		}
		n.beginLease(c)
		i, n.beats.rest = len(n.beats.rest), append(n.beats.rest, c)
	}
	g.cohort = n.beats.rest[i]
	g.cohort.groups.add(g)
	beatAt, _ := g.beatSent(g.Beat())
	g.settle(g.Rules)
	o.beatAt = beatAt
	n.toPack(g)
	n.share(g)
	n.edge.Rests(g, g.cohort.number)
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
		if slices.Contains(c.peers, p) && c.rules.quorum() > 1 {
			n.countQuorum(c)
		}
	}
}

// countQuorum counts a beat that a quorum has answered.
func (n *Node) countQuorum(c *cohort) {
	at, ok := n.confirmed(c.groups[0], c.seats)
	if !ok || at <= c.confirmed {
		return
	}
	c.confirmed = at
	n.edge.CohortHeard(c.number, n.now-at)
	n.renew(c)
}

// confirmAlone counts a beat that is sent for leaders that need no other member's answer.
func (n *Node) confirmAlone() {
	for _, c := range n.beats.rest {
		if c.rules.quorum() == 1 {
			n.countQuorum(c)
		}
	}
}

// wake has a leader that rests beat by itself again.
func (n *Node) wake(g *Group) {
	if !g.Rests() {
		return
	}
	n.open(g)
	n.unshare(g)
	o, c, r := g.offers(), g.cohort, g.Rules
	heard, answered := n.heardInRest(g)
	// It beats at once, unless the next beat is not due yet, or the office is lost.
	since, due := int((n.now-heard)/r.Timing.Heartbeat), n.now
	missed := min(max(since-1, 0), r.Timing.Leak)
	if since == 0 {
		due = heard + r.Timing.Heartbeat
	}
	c.drop(n, g)
	g.cohort, o.taken, o.beatAt = nil, c.seats, 0
	n.expectUnknown(g)
	n.beats.awake.add(g)
	n.edge.Rests(g, 0)
	g.goOnBeating(r, c.seats, answered, heard, missed)
	o.first = g.Beat() + 1
	n.alarms.set(g, due)
}

// heardInRest is when the newest beat was sent that a quorum has answered to a leader that rests, and who has: a beat of
// its node, or its own last heartbeat.
func (n *Node) heardInRest(g *Group) (at time.Duration, answered memberstate.Set) {
	c, followers := g.cohort, g.cohort.seats&g.Rules.Voters
	if o := g.offers(); o != nil && o.beatAt > c.confirmed {
		return o.beatAt, followers
	}
	at = c.confirmed
	for seat := range followers.Seats() {
		if n.peerOf(g, seat).answeredAt >= at {
			answered = answered.With(seat)
		}
	}
	return at, answered
}

// forgetBeat forgets the last heartbeat of a leader that rests once a newer beat of its node is answered, and says whether
// it is forgotten.
func (g *Group) forgetBeat() bool {
	o := g.offers()
	if !g.Rests() || o.beatAt == 0 {
		return true
	}
	if o.beatAt > g.cohort.confirmed {
		return false
	}
	o.beatAt = 0
	return true
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
	if n.deaf(p) {
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
		n.endLease(c)
		n.beats.rest = slices.DeleteFunc(n.beats.rest, func(other *cohort) bool { return other == c })
	}
}

// quorumAge is how long ago a leader sent the newest heartbeat, or its node the newest beat, that a quorum
// has answered.
func (n *Node) quorumAge(g *Group) time.Duration {
	if g.Rests() {
		at, _ := n.heardInRest(g)
		return n.now - at
	}
	s := g.Peek()
	return s.QuorumAge(g.Rules, n.now)
}
