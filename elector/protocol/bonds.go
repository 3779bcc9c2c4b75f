// Bonds: by which groups a node relies on beats between nodes instead of heartbeats (D15). What the two
// nodes of a bond say to each other is in link.go.
//
// A leader offers a bond with each heartbeat. A follower that takes it has no alarm of its own any more:
// the node looks at the link to the leader's node, for all groups that are bonded to it. When the link has
// been silent for too long, or when the bond ends, the follower has its alarm again, as if the last beat
// had been a heartbeat.
//
// A bond ends on the follower's side, by a departure, when
//
//   - its machine leaves its leader or the term, whatever the reason;
//   - a step of it waits, for the ledger or the disk, beyond the end of a turn. Its node would go on
//     answering although this member does not;
//   - it is not able to lead, or has to be looked at once a heartbeat for that;
//   - the group ends at this node.
//
// It ends on the leader's side, by a release, when the office ends or a step waits, for the same reasons.
// A release goes to every member that was offered a bond: its answer may be on the way.
//
// Both are counted at the step, before anything that the step asks for is done.

package protocol

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// officeBonds are the bonds of a leader's office.
type officeBonds struct {
	term  memberstate.Term
	made  memberstate.Set // members that were offered a bond, and are owed a release
	taken memberstate.Set // those that took it; while the group rests its cohort's seats count
	since uint64          // the newest beat of the node when the last of them took it

	present, before memberstate.Set // members that have answered a heartbeat since the last count, or in the one before
	rings           uint8           // of the leader's alarm since the last count
	first           uint32          // the first heartbeat of the office that has offered these bonds; while it rests, of none

	// While the leader rests: when it sent its last heartbeat, which its bonded voters have answered. Zero if that
	// counts no more.
	beatAt time.Duration
}

// offers are the bonds of a group's leader; nil if there are none, or if the group is packed.
func (g *Group) offers() *officeBonds {
	if g.desk == nil || g.duties == nil {
		return nil
	}
	return g.duties.offers
}

// countsPresent is after how many heartbeats it is counted anew who answers.
const countsPresent = 8

// Exchange has a node exchange beats with other nodes, from its start on. Starts counts the starts of its
// process, this one included, and is durable; 38 bits of it count. Nonce is a random number, which tells two
// processes apart that have one store each, although they should not. A node that is not told so makes no
// bonds.
func (n *Node) Exchange(starts uint64, nonce uint16, edge BeatEdge) {
	n.beats.own, n.beats.edge = incarnationOf(starts, nonce), edge
}

// mayBond says whether a group may rely on beats between nodes.
func (n *Node) mayBond(g *Group) bool {
	return n.beats.own != 0 && g.Rules.Vouch == 0 && g.ability() == nil && g.Inability() == Able && !g.Leaves()
}

// Bonded says whether a group is bonded to its leader's node.
func (g *Group) Bonded() bool { return g.place != 0 && g.cohort == nil && g.offers() == nil }

// Rests says whether a group's leader leaves the heartbeats to its node.
func (g *Group) Rests() bool { return g.cohort != nil }

// RestsOn are the followers whose nodes answer for them while the leader rests.
func (g *Group) RestsOn() memberstate.Set {
	if !g.Rests() {
		return 0
	}
	return g.cohort.seats
}

// answering are the other voters that have answered lately, as far as a leader or its node knows: one of the heartbeats that are
// kept. Those that have answered the last two may change with every heartbeat, where round trips are long.
func (g *Group) answering() memberstate.Set {
	if g.Rests() {
		return g.RestsOn() & g.Rules.others()
	}
	s := g.Peek()
	return s.Answering() & g.Rules.others()
}

// offer returns the bond that a leader's heartbeat to a member offers. The group may bond.
func (n *Node) offer(g *Group, to memberstate.Seat) *rpc.Bond {
	o := g.offers()
	if o == nil {
		o = &officeBonds{term: g.Term, first: g.Beat()}
		g.duty().offers = o
		n.expectUnknown(g)
		n.beats.awake.add(g)
	}
	p := n.peerOf(g, to)
	if !o.made.Has(to) {
		o.made = o.made.With(to)
		n.beats.begin(p, n.now, g.Rules.Timing.Heartbeat)
	}
	bond := p.link.offers(n.beats.number)
	return &bond
}

// expectUnknown has a leader not rest before it knows which of the members answer whose nodes it has never heard.
func (n *Node) expectUnknown(g *Group) {
	var unknown memberstate.Set
	for seat := range g.everyoneElse().Seats() {
		if n.peerOf(g, seat).link.peer == 0 {
			unknown = unknown.With(seat)
		}
	}
	o := g.offers()
	o.present, o.before, o.rings = unknown, unknown, 0
}

// answer returns what the answer to a heartbeat says about the bond that it has offered. The group's
// machine has taken the heartbeat in.
func (n *Node) answer(g *Group, to memberstate.Seat, offered *rpc.Bond, m *Message) *rpc.Bond {
	if n.beats.own == 0 {
		return nil
	}
	p := n.peerOf(g, to)
	current := n.meets(p, offered.Session)
	taken := current && m.Result == rpc.Success && n.mayBond(g) && p.link.takes(offered, g.Bonded())
	if taken {
		n.follow(g, p)
	}
	bond := p.link.answers(taken)
	return &bond
}

// follow bonds a follower to its leader's node.
func (n *Node) follow(g *Group, p *peer) {
	if len(p.followers) == 0 {
		p.heardAt, p.wait = n.now, g.silenceWait(g.Rules)
	}
	p.wait = min(p.wait, g.silenceWait(g.Rules))
	if g.place == 0 {
		n.alarms.remove(g)
		p.followers.add(g)
		g.settle(g.Rules)
		n.toPack(g)
	}
}

// silentAt is when a bonded follower has not heard its leader for too long, as it is now.
func (g *Group) silentAt(p *peer) time.Duration {
	if g.desk != nil {
		return max(g.due, p.heardAt+g.silenceWait(g.Rules))
	}
	s := g.Peek()
	return max(g.packed.until, p.heardAt+s.silenceWait(g.Rules))
}

// leaderPeer is the node of the leader that a group follows.
func (n *Node) leaderPeer(g *Group) *peer { return n.peerOf(g, g.State().Leader) }

// unbind gives a bonded follower its own alarm again.
func (n *Node) unbind(g *Group, p *peer) {
	n.open(g)
	due := g.silentAt(p)
	p.followers.drop(g)
	n.alarms.set(g, due)
}

// unbindAll does so for all that follow a node.
func (n *Node) unbindAll(p *peer) {
	for _, g := range p.followers {
		n.open(g)
		g.place = 0
		n.alarms.set(g, g.silentAt(p))
	}
	clear(p.followers)
	p.followers = emptied(p.followers)
}

// bondTaken takes in what an answer to a heartbeat says about the bond, before the machine takes the
// answer in. An answer to a heartbeat from before these bonds were offered is about earlier ones, perhaps of the same
// office. They have been released, and the follower gives them up when it learns that.
func (n *Node) bondTaken(g *Group, from memberstate.Seat, msg *rpc.Message) {
	b := msg.Bond
	if b == nil || n.beats.own == 0 {
		return
	}
	p := n.peerOf(g, from)
	if !n.meets(p, b.Session) {
		return
	}
	bonded, allEnd := p.link.bonds(b)
	if allEnd {
		n.unbound(p)
	}
	o := g.offers()
	if !bonded || o == nil || msg.Asked != o.term || int32(msg.Round-o.first) < 0 || msg.Result != rpc.Success || g.Rests() || o.taken.Has(from) || !o.made.Has(from) {
		return
	}
	o.taken, o.since = o.taken.With(from), n.beats.number
}

// present notes that a member is there. A leader that rests without it has to send it heartbeats.
func (n *Node) present(g *Group, from memberstate.Seat) {
	if g.Rules.All.Has(from) {
		n.hearsMute(n.peerOf(g, from))
	}
	if g.Rests() && !g.cohort.seats.Has(from) {
		n.wake(g)
	}
	if o := g.offers(); !g.Rests() {
		o.present = o.present.With(from)
	}
}

// ended takes in the end of a bond that the other node tells.
func (n *Node) ended(p *peer, l *rpc.Leaving) {
	g := n.beats.edge.Group(l.Group)
	switch {
	case g == nil || !g.running || g.State().Term != l.Term:
	case l.Released && g.Bonded() && n.leaderPeer(g) == p:
		n.unbind(g, p)
	case !l.Released && (g.Rests() || g.offers() != nil && g.offers().term == l.Term):
		n.wake(g)
		g.offers().taken = g.offers().taken.Without(g.Members.Seat(p.id))
	}
}

// unbound drops all bonds of followers at a node. Leaders that rest go on resting if a quorum is left.
func (n *Node) unbound(p *peer) {
	for _, c := range slices.Clone(n.beats.rest) {
		if slices.Contains(c.peers, p) && !n.restsWithout(c, p) {
			n.wakeAll(c)
		}
	}
	for _, g := range n.beats.awake {
		g.offers().taken = g.offers().taken.Without(g.Members.Seat(p.id))
	}
}

// meets takes in the session of a message, and says whether the message belongs to the present one.
func (n *Node) meets(p *peer, s rpc.Session) (current bool) {
	n.beats.know(p)
	begins, current := p.link.meets(s)
	if begins {
		n.endSession(p)
		n.forgetStanding(p)
		p.metAt = n.now
	}
	return current
}

// endSession ends all bonds of a session that is over, both ways. What the other node has answered until
// now counts for the leaders that wake.
func (n *Node) endSession(p *peer) {
	n.unbindAll(p)
	n.unbound(p)
	p.answeredAt = 0
}

// leave ends a group's bonds if they do not fit its machine any more. It is called after each step of the
// machine, with the term and the silence from before.
func (n *Node) leave(g *Group, leader memberstate.Seat, term memberstate.Term, silentAt time.Duration) {
	switch {
	case g.Bonded() && (g.Leader != leader || g.Term != term || !n.mayBond(g)):
		n.depart(g, n.peerOf(g, leader), term, silentAt)
	case g.offers() != nil && (g.Role != memberstate.Leader || g.Term != g.offers().term):
		n.endOffers(g)
	}
}

// depart ends the bond of a follower, and gives it its own alarm.
func (n *Node) depart(g *Group, p *peer, term memberstate.Term, silentAt time.Duration) {
	p.followers.drop(g)
	n.alarms.set(g, silentAt)
	p.link.departed.add(g.name, term, false)
	n.bound(p)
}

// endOffers releases all bonds of an office. Its leader does not rest.
func (n *Node) endOffers(g *Group) {
	o := g.offers()
	n.beats.awake.drop(g)
	g.duty().offers = nil
	for seat := range o.made.Seats() {
		p := n.peerOf(g, seat)
		p.offers--
		p.link.released.add(g.name, o.term, true)
		n.bound(p)
	}
}

// bound bounds the leavings that are kept for a node. More than a beat has room for begin to be told at once, because
// no beat or answer counts for the bonds that remain before all are told, which takes many round trips. Each beat that
// was full is followed by another when it is answered.
func (n *Node) bound(p *peer) {
	if p.link.untold() == n.beats.most+1 {
		p.reply = true
	}
	if p.link.overflows() {
		n.beats.anew++ // of all links, so that no peer has ever seen a larger number than a link has that is made later
		p.link.renew(n.beats.own + n.beats.anew)
		n.endSession(p)
	}
}

// leaveAll ends a group's bonds, because the group ends or a step of it waits.
func (n *Node) leaveAll(g *Group) {
	n.open(g)
	switch {
	case g.Bonded():
		p := n.leaderPeer(g)
		n.depart(g, p, g.Term, g.silentAt(p))
	case g.offers() != nil:
		n.wake(g)
		n.endOffers(g)
	}
}

// leaveWaiting ends the bonds of groups whose step has begun to wait in this turn, and still waits.
func (n *Node) leaveWaiting() {
	for i, g := range n.beats.waits {
		if n.beats.waits[i] = nil; g.busy() != nil {
			n.leaveAll(g)
		}
	}
	n.beats.waits = emptied(n.beats.waits)
}
