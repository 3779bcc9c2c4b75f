// An engine takes its time to return from a Lead that was told to end. Until then its member
// does not stand, and is not told to begin another one. It may be told anything else, and
// there would be twice as many nodes.
//
// They are looked at, and not kept. Of two members that are the same, but that the old Lead of
// one has not returned, the other one can do all that this one can; for if it had returned
// just now, they would be the same. That is not taken for granted. Whatever has happened to a
// node is tried on the one that still serves, too, and what comes of it must be, once that has
// returned, what comes of it for the other one; if it is not, that is a violation. So every
// Lead is taken to return as soon as it is told to, and every step is also taken as if it
// had not.

package explore

import (
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation"
)

// alsoBeforeReturn adds to all that happens to a node what is wrong if an old Lead has not returned.
func (m *model) alsoBeforeReturn(id nodeID, all []stepResult, happens func(*node) []stepResult) []stepResult {
	n := m.nodes[id]
	if !m.forgets() || !n.stillServing(m) {
		return all
	}
	for _, t := range happens(&n) {
		switch {
		case !t.defect.none():
			return append(all, t)
		case !t.beyond && !slices.ContainsFunc(all, t.is) && !m.isIdle(id, &t):
			return append(all, stepResult{defect: defect{simulation.OneOffice, "an old Lead of its engine has not returned, and it does what it otherwise would not"}})
		}
	}
	return all
}

// isIdle says whether what has come of something is what comes of nothing at all, or of the
// end of a node's patience.
func (m *model) isIdle(id nodeID, t *stepResult) bool {
	switch {
	case t.saved || len(t.says) > 0:
		return false
	case t.node == id && !t.ended:
		return true
	}
	n := m.nodes[id]
	if slices.ContainsFunc(m.happenings(&n, id, input{}, m.renamings[:1]), t.is) {
		return true // a member that is alone extends its lease whenever it attends to it
	}
	return n.time.wait == 0 && slices.ContainsFunc(m.happenings(&n, id, input{kind: rings}, m.renamings[:1]), t.is)
}

// stillServing makes the node one whose old Lead has not returned, if there can be one.
func (n *node) stillServing(m *model) (can bool) {
	if n.session, can = n.session.StillServing(&m.rules[n.index()]); can {
		n.driver.lead, n.driver.runs, n.driver.ended = 0, true, true
	}
	return can
}

// returned is what a node is once a Lead has returned that was told to end.
func (m *model) returned(n *node) node {
	w := m.stepOf(n, m.renamings[0])
	w.leadEnds()
	m.canonize(w.node)
	return *w.node
}

// leadEnds has a Lead return that was told to.
func (w *stepping) leadEnds() {
	if o := &w.node.driver; o.runs && o.ended && w.defect.none() {
		w.happens(protocol.Input{}, returns, memberstate.Nobody)
	}
}
