// The standing of this node and of its peers, and what follows from it for the groups (D28).
//
// A node tells its standing in every beat, and at once when it changes. What a peer has said last counts
// until it says something else, or its process is started again, with beats or without. So a node that has died while it drained
// leaves nothing behind.

package protocol

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// standings is what a node remembers for its standing.
type standings struct {
	own         rpc.Standing
	protected   bool          // see protection.go
	electorates []*Electorate // of the groups that take part
	led         int           // groups
	extra       uint64        // by how much their weight is more than their number
	capacity    uint16        // the node's; 0: the usual one
	ledAt       time.Duration // when there was one last
}

// Standing is the node's.
func (n *Node) Standing() rpc.Standing { return n.stands.own }

// Hold has a node that has not begun to work begin without serving.
func (n *Node) Hold() { n.stands.own.State = rpc.Starting }

// Serve has a node that starts, or drains, serve.
func (n *Node) Serve() {
	n.endDrain()
	n.stand(rpc.Serving)
	n.showProgress()
}

// stand changes the node's standing, and tells all nodes that exchange beats with it.
func (n *Node) stand(as rpc.NodeState) {
	s := &n.stands
	if s.own.State == as {
		return
	}
	s.own = rpc.Standing{State: as, Changes: s.own.Changes + 1}
	for _, e := range s.electorates {
		e.choose(e.Rules.Self, as)
	}
	for _, p := range n.beats.peers {
		p.reply = p.reply || p.link.peer != 0
	}
}

// standingHeard takes in what a peer says of itself.
func (n *Node) standingHeard(p *peer, says rpc.Standing) {
	if !reaches(says.Changes, p.standing.Changes) {
		return // a later beat has overtaken it
	}
	before := p.standing.State
	p.told = true
	if p.standing = says; before != says.State {
		n.standingChanged(p)
	}
	n.askAgain(p)
}

// askAgain has a peer that does not serve sent beats now and then, even if no leader here offers it a bond. The beat that says
// that it serves again may be lost, and its next process, which serves, has no reason to speak first. Its answer tells.
func (n *Node) askAgain(p *peer) {
	b := &n.beats
	if !p.leaves() || b.due != 0 {
		return
	}
	for _, e := range n.stands.electorates {
		if heartbeat := e.Rules.Timing.Heartbeat; e.Rules.All.Has(e.Members.Seat(p.id)) && (b.due == 0 || heartbeat < b.every) {
			b.every, b.due = heartbeat, n.now+heartbeat
		}
	}
}

// leaves says whether a peer has said last that it does not serve.
func (p *peer) leaves() bool { return p.standing.State != rpc.Serving }

// forgetStanding forgets what an earlier process of a peer has said.
func (n *Node) forgetStanding(p *peer) {
	p.told, p.leads, p.given = false, 0, 0
	if before := p.standing.State; p.standing != (rpc.Standing{}) {
		if p.standing = (rpc.Standing{}); before != rpc.Serving {
			n.standingChanged(p)
		}
	}
}

// answersWithoutBond takes in that a member has answered a leader's heartbeat and says nothing of bonds. Its node exchanges no beats,
// or this leader has offered it no bond. Then the answer says so if its node does not serve. If it does not say so, and the
// heartbeat was sent after the node's last beat had arrived, what that beat said is over: the node's process is another
// one, which exchanges no beats, or the beat in which it said that it serves again was lost. An answer to an earlier
// heartbeat may have been on its way for long, and be older than what the beat said.
func (n *Node) answersWithoutBond(g *Group, from memberstate.Seat, msg *rpc.Message) {
	if msg.Bond != nil || msg.Unable != 0 || g.Role != memberstate.Leader || msg.Asked != g.Term {
		return
	}
	p := n.peerOf(g, from)
	if sent, _ := g.duty().sent.beat(&g.Machine, msg.Round); p.leaves() && sent > p.spokeAt {
		over := p.standing.Changes + 1
		n.forgetStanding(p)
		p.standing.Changes = over // so that a late copy of that beat does not count
	}
}

// standingChanged has the groups that this node shares with a peer know of its standing.
func (n *Node) standingChanged(p *peer) {
	for _, e := range n.stands.electorates {
		if seat := e.Members.Seat(p.id); e.Rules.All.Has(seat) {
			e.choose(seat, p.standing.State)
		}
	}
	if p.standing.State != rpc.Serving {
		return
	}
	if n.draining.on {
		n.draining.retryAll()
	}
	n.callToOffer(func(c *cohort) bool { return c.rules.Preferred.Has(c.electorate.Members.Seat(p.id)) })
}

// callToOffer wakes leaders that rest, one after another, to hand over to preferred members.
func (n *Node) callToOffer(may func(*cohort) bool) {
	for _, c := range n.beats.rest {
		if c.called == 0 && c.rules.mayOffer() && may(c) {
			c.called = n.now
		}
	}
}

// choose notes whether a member leads only if no other voter can.
func (e *Electorate) choose(seat memberstate.Seat, as rpc.NodeState) {
	if c := &e.maintenance; as == rpc.Serving {
		c.LastChoice = c.LastChoice.Without(seat)
	} else {
		c.LastChoice = c.LastChoice.With(seat)
	}
}

// enlist has an electorate know of the standings, because a group of it takes part.
func (n *Node) enlist(e *Electorate) {
	if e.groups++; e.groups > 1 {
		return
	}
	n.stands.electorates = append(n.stands.electorates, e)
	e.maintenance.Protected = n.stands.protected
	for seat := range e.Rules.All.Seats() {
		if seat == e.Rules.Self {
			e.choose(seat, n.stands.own.State)
			continue
		}
		p := n.peerAt(e, seat)
		p.named++
		e.choose(seat, p.standing.State)
	}
}

// dismiss forgets an electorate of which no group takes part any more, and the nodes that no other one names.
func (n *Node) dismiss(e *Electorate) {
	if e.groups--; e.groups > 0 {
		return
	}
	n.stands.electorates = slices.DeleteFunc(n.stands.electorates, func(other *Electorate) bool { return other == e })
	for seat := range e.Rules.All.Without(e.Rules.Self).Seats() {
		p := n.peerAt(e, seat)
		if p.named--; p.named == 0 {
			n.forget(p)
		}
	}
	e.peers = nil
}

// countLed counts a group that this node has begun to lead, or leads no more.
func (n *Node) countLed(g *Group) {
	s := &n.stands
	switch is := g.running && g.State().Role == memberstate.Leader; {
	case is == g.notes.has(isLed):
	case is:
		g.notes.set(isLed, true)
		s.led++
		s.extra += uint64(g.extra)
		n.balancing.begins(g, n.now)
		n.draining.add(g)
		n.standDrained()
	default:
		g.notes.set(isLed, false)
		s.led, s.ledAt = s.led-1, n.now
		s.extra -= uint64(g.extra)
		n.draining.gone(g)
	}
}
