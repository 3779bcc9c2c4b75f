// Members whose terms are too far apart. A member drops what claims a term more than
// memberstate.MaxTermStep above its own (D10), because no group comes to such a term
// by elections. If a member that lies, or a damaged one, has led two others so far
// apart step by step, they never hear each other again; an operator has to raise the
// term of the one that is behind.

package protocol

import "time"

// apart remembers what was told of such members.
type apart struct {
	told   time.Duration
	ever   bool
	untold uint64 // since then
}

// tellEvery is how seldom it is told.
const tellEvery = time.Minute

// tellApart says that a term is too far away, of all groups of a node once a minute.
func (n *Node) tellApart(g *Group, in *Input) {
	a := &n.apart
	if a.ever && n.now-a.told < tellEvery {
		a.untold++
		return
	}
	peer, term := in.Message.From, in.Message.Term
	if in.Kind == Heard {
		peer, term = in.Seat, in.Term
	}
	n.edge.TooFarApart(g, g.Members.ID(peer), term, a.untold)
	*a = apart{told: n.now, ever: true}
}
