// What a node knows of the other nodes, as it is shown to operators on request. Nothing is decided by it.

package protocol

import (
	"slices"
	"strings"
	"time"

	"github.com/hustings/hustings/rpc"
)

// Peer is what a node knows of another one, with which it shares groups.
type Peer struct {
	// ID is the other node's id, and Groups is how many groups have members at both.
	ID     string
	Groups int
	// Standing is what its present process has said of itself last. If Known is false, the two have exchanged no beat yet, or an
	// answer has shown since that the node serves again. They exchange beats only while one of them leads a group that the
	// other follows, and never if one of them has HostConfig.NoNodeBeats.
	Standing rpc.Standing
	Known    bool
	// Incarnation names its process, if it exchanges beats; 0: it is not known.
	Incarnation uint64
	// Heard says that something has arrived from it since this process began, and Silence is how long ago that was the
	// last time. Two nodes that both only follow have nothing to say to each other.
	Heard   bool
	Silence time.Duration
	// Led is how many groups its present process leads, Weight is what they weigh together, and Capacity is how much the node should
	// lead, in hundredths of a usual one. Capacity is 0 if it has said nothing of this, as older versions.
	Led, Weight, Capacity int
	// Lost says that the transport has reported since that its process is gone.
	Lost bool
	// Follow is how many groups follow a leader there, and Lead how many groups that are led here have followers
	// there, of those that leave their heartbeats to the two nodes.
	Follow, Lead int
}

// Peers are the other nodes with which this one shares groups, by id.
func (n *Node) Peers() []Peer {
	groups := make(map[string]int)
	for _, e := range n.stands.electorates {
		for seat := range e.Rules.All.Seats() {
			groups[e.Members.ID(seat)] += e.groups
		}
	}
	delete(groups, n.self)
	all := make([]Peer, 0, len(groups))
	for id, shared := range groups {
		p := n.show(id)
		p.Groups = shared
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Peer) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// show is what this node knows of another one by itself.
func (n *Node) show(id string) Peer {
	p := n.peers.members[id]
	_, lost := n.lost[id]
	if p == nil {
		return Peer{ID: id, Lost: lost}
	}
	shown := Peer{ID: id, Known: p.told, Incarnation: p.link.peer, Follow: len(p.followers), Lost: lost}
	if p.told {
		shown.Standing = p.standing
	}
	if p.seenAt > 0 {
		shown.Heard, shown.Silence = true, n.now-p.seenAt
	}
	if p.leads > 0 {
		l := p.load()
		shown.Led, shown.Weight, shown.Capacity = int(p.leads)-1, int(l.weight), int(l.capacity)
	}
	for _, c := range n.beats.rest {
		if slices.Contains(c.peers, p) {
			shown.Lead += len(c.groups)
		}
	}
	return shown
}

// Incarnation names this process among those of its node, in the beats that it exchanges; 0: it exchanges none.
func (n *Node) Incarnation() uint64 { return n.beats.own }
