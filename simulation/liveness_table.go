// Liveness and the table of who leads what: where nothing strikes, two tables differ only while a change is on its way.

package simulation

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// agreesWithin is how long two tables may differ, in detection times: a leader that is elected says so at once, and its
// next beat is a part of a detection time later.
const agreesWithin = 2

// oneTable demands that all of the core, and all observers, soon show the same leader of each group in the same term.
func (w *world) oneTable(core []int) {
	for place := range w.groups {
		limit := w.now + int64(agreesWithin*w.check.Detection())
		w.check.Counts[invariant.OneTable]++
		for !w.check.Over && !w.showsOne(core, place) {
			if w.now >= limit {
				w.check.Violated(invariant.OneTable, &w.nodes[core[0]].members[place].Member, "two tables differ for %d detection times: %s", agreesWithin, w.describe(place))
				return
			}
			w.run(time.Duration(w.now) + w.options.Timing.Heartbeat/4)
		}
	}
}

// showsOne says whether the rows of a group are the same, and the leader's own says that it leads.
func (w *world) showsOne(core []int, place int) bool {
	row := w.nodes[core[0]].members[place].Shown
	for i := range w.nodes {
		n := &w.nodes[i]
		if !slices.Contains(core, i) && !w.check.Observes(n.Seat) {
			continue
		}
		shown := n.members[place].Shown
		if !n.Alive || shown.Leader != row.Leader || shown.Term != row.Term || shown.Leader == n.Seat != (shown.Role == memberstate.Leader) {
			return false
		}
	}
	return row.Leader != memberstate.Nobody
}
