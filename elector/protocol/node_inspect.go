// What a search of whole nodes looks at, besides what they send and show.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// SilentAt is when a follower takes its leader for gone if it hears nothing more; 0: it follows nobody.
func (n *Node) SilentAt(g *Group) time.Duration {
	switch {
	case !g.running || g.State().Role != memberstate.Follower:
		return 0
	case g.Bonded():
		return g.silentAt(n.leaderPeer(g))
	}
	return g.due
}

// Quiet says whether a group leaves its beats to nodes, and if it follows when its alarm is due if its bond ends.
func (g *Group) Quiet() (due time.Duration, quiet bool) {
	switch {
	case g.Bonded() && g.desk == nil:
		return g.packed.until, true
	case g.Bonded():
		return g.due, true
	}
	return 0, g.Rests()
}

// Answered is when the newest beat was sent that a node has answered; 0: none in this session.
func (n *Node) Answered(node string) time.Duration {
	if p := n.peers.members[node]; p != nil {
		return p.answeredAt
	}
	return 0
}
