// Liveness and drains: in a healed group a node that drains hands over all that it leads, and leads nothing more as long as
// others serve. If none serves, each group keeps its leader. A node that is protected hands over nothing meanwhile.

package simulation

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// drainedWithin is how soon a node leads nothing, in detection times, once the others are able and their ledgers are good
// enough: a handover has three phases of one each, and one that has failed is tried again after twice as long.
const drainedWithin = 16

// drainEnds drains a leader's node, and then all.
func (w *world) drainEnds(core []int) {
	if len(core) < 2 || !w.handsOverSoon() {
		return
	}
	leader := w.reigns(core)[0].leader
	if leader == memberstate.Nobody {
		return
	}
	n := &w.nodes[leader-1]
	w.holdsStill(n)
	n.drains(0)
	n.moves(n.Incarnation)
	// What is tried in vain is tried again after twice as long.
	limit := w.now + 2*int64(w.mayHold()+4*w.tick) + int64(drainedWithin*w.check.Detection())
	for !w.check.Over && n.leadsAny() {
		if w.now >= limit {
			w.check.Violated(invariant.DrainEnds, n.led(), "its node drains, and it leads on: %s", w.describe(n.led().Place))
			return
		}
		w.run(time.Duration(w.now) + w.options.Timing.Heartbeat/2)
	}
	w.run(time.Duration(w.now) + calmFor*w.check.Detection())
	w.check.Counts[invariant.DrainEnds]++
	if n.leadsAny() {
		w.check.Violated(invariant.DrainEnds, n.led(), "it leads again although its node drains: %s", w.describe(n.led().Place))
	}
	for _, i := range core {
		w.nodes[i].drains(0)
	}
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection()) // those that are told first hand over to the others
	w.keepsLeader(core, calmFor)
	for _, i := range core {
		w.nodes[i].serves(w.nodes[i].Incarnation)
	}
}

// handsOverSoon says whether ledgers catch up soon, and questions are answered soon, so that handovers succeed.
func (w *world) handsOverSoon() bool {
	return !w.check.Over && w.tick <= idleFor*w.check.Detection() && w.network.delay+w.network.jitter <= w.options.Timing.Heartbeat/2
}

// holdsStill protects a node, in some worlds, and demands that it keeps what it leads although it is to balance, and drains. No handover is under
// way before.
func (w *world) holdsStill(n *node) {
	if w.lot(n.Index, 3) != 0 {
		return
	}
	n.protects()
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
	before := w.reigns([]int{n.Index})
	n.balances(w.check.Detection())
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
	n.balances(0)
	n.drains(0)
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
	for place, was := range before {
		m := &n.members[place]
		w.check.Counts[invariant.HoldsStill]++
		if was.leader == n.Seat && !w.check.Over && (!m.Leads() || m.group.State().Term != was.term) {
			w.check.Violated(invariant.HoldsStill, &m.Member, "its node is protected, and it no longer leads term %d: %s", was.term, w.describe(place))
		}
	}
}

// led is the first member of a node that leads; nil if none does.
func (n *node) led() (first *check.Member) {
	for place := range n.members {
		if m := &n.members[place]; m.Leads() {
			return &m.Member
		}
	}
	return nil
}

func (n *node) leadsAny() bool { return n.led() != nil }
