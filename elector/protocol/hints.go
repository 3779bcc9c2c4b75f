// Hints: the transport reports that a node is gone (D13).
//
// Each group that follows a leader at that node then asks the others whether they would elect this member.
// If the node is there after all, every one of them is refused, and then has to be bonded anew. With very
// many groups that is a storm, and connections break often. So groups that are bonded to the node are told
// one after another, while the node is asked for a sign of life. If one comes, the others are not told.

package protocol

import "time"

// hint is a report that a node is gone, while groups that follow a leader there have not been told.
type hint struct {
	session uint64        // the node's incarnation when it was bonded
	began   time.Duration // when the report came
	most    int           // groups that were told at once
	told    int           // groups that have been told
	waiting []*Group
	asked   bool // the node has been asked for a sign of life
}

// hintEvery is how often a group is told that its leader's node is gone, beyond those that are told at once. It
// is about as often as a node can hold elections.
const hintEvery = 10 * time.Microsecond

// due is when the next group is told.
func (h *hint) due() time.Duration { return h.began + time.Duration(h.told-h.most+1)*hintEvery }

// PeerLost takes the transport's hint that a process is gone, for all groups of the node.
func (n *Node) PeerLost(node string) {
	var bonded []*Group
	for _, g := range n.edge.Groups() {
		seat := g.Members.Seat(node)
		if g.Rules.All.Has(seat) { // so n.lost is bounded by the members
			n.lost[node] = n.now
		}
		switch {
		case !g.running || seat != g.State().Leader:
		case g.Bonded():
			bonded = append(bonded, g)
		default:
			n.give(g, &Input{Kind: PeerLost, Seat: seat}, purpose{})
		}
	}
	// A hint about an earlier process is over: no group is bonded to that one any more.
	if p := n.peers.members[node]; len(bonded) > 0 && (p.hint == nil || p.hint.session != p.link.peer) {
		p.hint = &hint{session: p.link.peer, began: n.now, most: n.muster.most, waiting: bonded}
		n.hintSome(p)
	}
}

// hintSome tells as many groups as it is time for that the node of their leader is gone.
func (n *Node) hintSome(p *peer) {
	h := p.hint
	if h == nil {
		return
	}
	for len(h.waiting) > 0 && (h.told < h.most || n.now >= h.due()) {
		g := h.waiting[0]
		h.waiting, h.told = h.waiting[1:], h.told+1
		n.give(g, &Input{Kind: PeerLost, Seat: g.Members.Seat(p.id)}, purpose{})
	}
	if len(h.waiting) == 0 {
		p.hint = nil
	}
}

// askHinted asks nodes that are said to be gone for a sign of life, with a beat out of turn.
func (n *Node) askHinted() {
	for _, p := range n.beats.peers {
		if p.hint != nil && !p.hint.asked {
			p.hint.asked, p.reply = true, true
			n.beats.count(n.now) // a node replies to a beat that is new
		}
	}
}

// speaks takes in that a node is there. Whoever is told that it is gone need not be told any more, unless its
// process has started anew.
func (p *peer) speaks() {
	if p.hint != nil && p.hint.session == p.link.peer {
		p.hint = nil
	}
}
