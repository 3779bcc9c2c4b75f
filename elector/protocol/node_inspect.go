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

// Settled is the session of a group that leaves its beats to nodes, without what does not count, and when the alarm of
// a follower is due if its bond ends. It is the same whether the group is packed or not. It is false for other groups.
func (g *Group) Settled() (s Session, due time.Duration, quiet bool) {
	if quiet = g.quiet(); !quiet {
		return Session{}, 0, false
	}
	var d Duties
	if g.desk != nil {
		s, d = g.settled()
		due = g.due
	} else {
		s, d = g.packed.session(g)
		due = g.packed.until
	}
	if s.Role == memberstate.Leader {
		due = 0
	}
	if d != (Duties{}) {
		s.duties = &d
	}
	return s, due, true
}

// Answered is when the newest beat was sent that a node has answered; 0: none in this session.
func (n *Node) Answered(node string) time.Duration {
	if p := n.peers.members[node]; p != nil {
		return p.answeredAt
	}
	return 0
}
