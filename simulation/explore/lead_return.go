// Prompt returns: Lead of an engine that was told to end returns at once.
//
// The intuition: an engine may take any time to return from Lead. Until then its member does not stand, and Lead is
// not called again; all other inputs do to it what they do to a member whose engine has
// returned. So for every node there would be a second one that differs by the Lead that still runs. Whatever
// that second node can do, the first can do, too: if Lead had returned just now, they would be the same.
//
// That is not taken for granted. Every input of a node is also given to the node whose old Lead still
// runs. What comes of it must be, once that Lead has returned, what comes of it for the first
// node; if it is not, that is a violation.
//
// The cases:
//
//   - The member does not lead. It must not stand while the old Lead runs, so nothing may come of what else
//     would have it stand. That is allowed: "nothing at all" is always among what may come of an input.
//   - The member leads a later term. Its Lead must not begin before the old one has returned.
//   - A member that is alone extends its lease whenever it attends to anything, so the return of Lead may
//     do that.
//   - A stale message that the member ignores when Lead has returned is not tried again while it runs.
//
// The fix that looks right and is wrong is to assume that Lead returns at once and to leave it there. Then
// a member that stands while its engine still serves an older term would never be found.
//
// What it buys: half of the nodes.

package explore

import (
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
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
			return append(all, stepResult{defect: defect{invariant.OneOffice, "an old Lead of its engine has not returned, and it does what it otherwise would not"}})
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
