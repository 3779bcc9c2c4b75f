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

// Answered is when the newest beat was sent that a node has answered; 0: none in this session.
func (n *Node) Answered(node string) time.Duration {
	if p := n.peers.members[node]; p != nil {
		return p.answeredAt
	}
	return 0
}
