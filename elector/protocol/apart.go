// Members whose terms are too far apart. A member drops a message that claims a term more than
// memberstate.MaxTermStep above its own (D10), because no group reaches such a term by elections.
// If a member that lies, or a damaged one, has led two others so far apart step by step, they
// never hear each other again; an operator must then raise the term of the one that is behind.

package protocol

import "time"

// apart remembers when such members were last reported.
type apart struct {
	told   time.Duration
	ever   bool
	untold uint64 // reports left out since then
}

// tellEvery is the least time between two reports.
const tellEvery = time.Minute

// tellApart reports that a term is too far away, for all groups of a node together once a minute.
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
