// Members whose terms are too far apart. A member drops what claims a term more than
// memberstate.MaxTermStep above its own (D10), because no group comes to such a term
// by elections. If a member that lies, or a damaged one, has led two others so far
// apart step by step, they never hear each other again; an operator has to raise the
// term of the one that is behind.

package elector

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// apart remembers what was told of such members.
type apart struct {
	told   time.Duration
	ever   bool
	untold uint64 // since then
}

// tellEvery is how seldom it is told.
const tellEvery = time.Minute

// tellApart says that a term is too far away, of all groups of a host once a minute.
func (h *Host) tellApart(g *group, in *Input) {
	a := &h.apart
	if a.ever && h.now-a.told < tellEvery {
		a.untold++
		return
	}
	peer, term := in.Message.From, in.Message.Term
	if in.Kind == Heard {
		peer, term = in.Seat, in.Term
	}
	h.log.Warn("the term of a peer is too far above this member's: what it says is dropped. If this goes on they never agree; "+
		"then stop this node and raise its term to the peer's",
		"group", g.name, "peer", g.members.ID(peer), "peer_term", uint64(term), "term", uint64(g.machine.Term),
		"most_apart", uint64(memberstate.MaxTermStep), "more_untold", a.untold)
	*a = apart{told: h.now, ever: true}
}
