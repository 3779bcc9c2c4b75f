// Mute nodes: a node is started without beats, or with an older version.
//
// Leaders that rest do without the members there, as if the node were dead. A voter there asks for votes after a while,
// and is noticed, unless it hears its leader by appends: then its leader would not know that it has this voter in its
// quorum. An observer never asks for anything, so it would find no leader. So every few heartbeats a node wakes one of
// the leaders that rest and have a member at a silent node, to send that one a heartbeat. This costs the same for any
// number of groups. If anything comes from the silent node, it is mute and not dead: all leaders that rest and have a
// member there are called, and beat by themselves as long as members there answer.

package protocol

import "github.com/hustings/hustings/memberstate"

// mute says whether a node is there although it sends no beats.
func (n *Node) mute(p *peer) bool {
	return p.muteAt != 0 && n.silent(p) && n.now-p.muteAt < countsPresent*n.beats.every
}

// hearsMute takes in that a message has come from a node, for a group whose leader offers it bonds.
func (n *Node) hearsMute(p *peer) {
	if !n.silent(p) {
		return
	}
	known := n.mute(p)
	if p.muteAt = n.now; !known {
		n.unbound(p)
		n.call(p)
	}
}

// probe wakes a leader for each silent node, with the beat that is due now, once in so many beats.
func (n *Node) probe() {
	if n.beats.number%countsPresent != 0 {
		return
	}
	for _, p := range n.beats.peers {
		if !n.silent(p) || n.mute(p) {
			continue
		}
		if g := n.prober(p, int(n.beats.number/countsPresent)); g != nil {
			n.probeIn(g, p)
		}
	}
}

// prober is the group whose turn it is, of those that rest and have a member at a node; nil if there are none. They take turns, because
// some of them may not run there.
func (n *Node) prober(p *peer, turn int) *Group {
	var there []*cohort
	groups := 0
	for _, c := range n.beats.rest {
		if c.rules.All.Has(c.electorate.Members.Seat(p.id)) {
			there = append(there, c)
			groups += len(c.groups)
		}
	}
	turn %= max(groups, 1)
	for _, c := range there {
		if turn < len(c.groups) {
			return c.groups[turn]
		}
		turn -= len(c.groups)
	}
	return nil
}

// probeIn has a leader that rests send a member a heartbeat, and rest again if nothing comes back. It had given up all others
// that are not bonded before it rested, so it does not wait for them anew.
func (n *Node) probeIn(g *Group, p *peer) {
	n.wake(g)
	o := g.offers()
	o.present, o.before, o.rings = 0, memberstate.SetOf(g.Members.Seat(p.id)), countsPresent-2
}
