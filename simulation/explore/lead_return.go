// Prompt returns: Lead returns at once when its context ends.
//
// The intuition: an engine may take any time to return from Lead. Until then its member does not stand, and
// Lead is not called again; every other input does to the member what it does to one whose engine has returned.
// So each node would have a twin whose Lead still runs. Whatever the twin can do, the node can do, too: if
// Lead had returned just now, they would be the same.
//
// This is not assumed, but checked. Every input of a node is also given to its twin. The result must be, once
// Lead has returned, the result for the node; if it is not, that is a violation.
//
// The cases:
//
//   - The member does not lead. It must not stand while the old Lead runs, so an input that would make the node
//     stand may have no effect on the twin. "No effect" is therefore always allowed.
//   - The member leads a later term. Its Lead must not begin before the old one has returned.
//   - A member alone extends its lease whenever it attends to anything, so the return of Lead may do that.
//   - A stale message that the node ignores is not tried on the twin.
//
// The shortcut that looks right and is wrong is to assume that Lead returns at once, without the check. Then a member
// that stands while its engine still serves an older term would never be found.
//
// What it saves: up to a third of the nodes and two fifths of the states. docs/verification.md has the figures.

package explore

import (
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// checkStillServing adds to the results of an input what is wrong with them for the node's twin.
func (m *model) checkStillServing(id nodeID, all []stepResult, run func(*node) []stepResult) []stepResult {
	n := m.nodes[id]
	if !m.forgetsLate() || !n.stillServing(m) {
		return all
	}
	for _, t := range run(&n) {
		switch {
		case !t.defect.none():
			return append(all, t)
		case !t.outOfBounds && !slices.ContainsFunc(all, t.equals) && !m.isNoEvent(id, &t):
			return append(all, stepResult{defect: defect{invariant.OneOffice, "it reacts differently while an old Lead of its engine has not returned"}})
		}
	}
	return all
}

// isNoEvent says whether a result is that of no event at all, or of the node's alarm.
func (m *model) isNoEvent(id nodeID, t *stepResult) bool {
	switch {
	case t.saved || len(t.sent) > 0:
		return false
	case t.node == id && !t.ended:
		return true
	}
	n := m.nodes[id]
	if slices.ContainsFunc(m.runInSeats(&n, id, input{}, m.renamings[:1]), t.equals) {
		return true // a member alone extends its lease whenever it attends to anything
	}
	return n.time.wait == 0 && slices.ContainsFunc(m.runInSeats(&n, id, input{kind: alarmRings}, m.renamings[:1]), t.equals)
}

// stillServing turns the node into its twin, whose old Lead has not returned, if it can have one.
func (n *node) stillServing(m *model) (can bool) {
	if n.session, can = n.session.StillServing(&m.rules[n.index()]); can {
		n.driver.lead, n.driver.runs, n.driver.ended = 0, true, true
	}
	return can
}

// returned is a node after a Lead whose context has ended has returned.
func (m *model) returned(n *node) node {
	w := m.newExecution(n, m.renamings[0])
	w.leadEnds()
	m.canonize(w.node)
	return *w.node
}

// leadEnds makes such a Lead return.
func (w *execution) leadEnds() {
	if o := &w.node.driver; o.runs && o.ended && w.defect.none() {
		w.apply(protocol.Input{}, leadReturns, memberstate.Nobody)
	}
}
