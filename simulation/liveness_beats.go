// Liveness and upgrades: in a healed majority a process that exchanges beats is replaced by one that does not, or the other
// way round, and its members are led again.

package simulation

import (
	"time"

	"github.com/hustings/hustings/simulation/invariant"
)

// goneFor is how long a process is gone that is replaced, in detection times: long enough for leaders to rest without it.
const goneFor = 8

// upgrades replaces a process of the other kind, in some worlds, and demands that its members are led. It prefers an observer,
// which asks nobody for anything, so leaders have to find it.
func (w *world) upgrades(core []int) {
	if w.check.Over || !w.options.Beats || w.lot(len(core), 4) != 1 {
		return
	}
	n := &w.nodes[w.leadsLeast(core, w.reigns(core))]
	for i := range w.nodes {
		if w.check.Observes(w.nodes[i].Seat) {
			n = &w.nodes[i]
		}
	}
	if !w.check.Observes(n.Seat) && len(core) <= w.check.Majority() {
		return // the others are no quorum
	}
	n.crash()
	n.mute = !n.mute
	w.run(time.Duration(w.now) + goneFor*w.check.Detection())
	n.start()
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection()) // without pre-vote it may end a term before it is found
	w.electsSoon(core, invariant.Converges)
	w.keepsLeader(core)
}
