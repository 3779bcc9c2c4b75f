// Liveness and balance: in a healed group nodes that balance lead about as many groups each, and then nothing moves any more.

package simulation

import (
	"time"

	"github.com/hustings/hustings/simulation/invariant"
)

// evenWithin is how many intervals of balance pass until the numbers are even. At least one group moves in each, of at most
// 64; some handovers fail, for example because a ledger is behind.
const evenWithin = 3 * 64

// getsEven has all voters balance, and demands that they lead about as many groups each in the end. It needs all of
// them: what is left while others are silent may not be moved. Nodes whose engines vouch exchange no beats.
func (w *world) getsEven(core []int) {
	if !w.options.Beats || w.options.Vouch > 0 || len(core) < max(2, w.options.Members) || len(w.groups) < 2*len(core) || !w.handsOverSoon() || w.anyPreferred(core) {
		return
	}
	every := 2 * w.check.Detection()
	for _, i := range core {
		w.nodes[i].balances(every)
	}
	w.run(time.Duration(w.now) + evenWithin*every)
	if w.check.Over {
		return
	}
	w.check.Counts[invariant.GetsEven]++
	least, most := w.fewestAndMost(core)
	if slack := max(2, len(w.groups)/len(core)/10); most-least > slack {
		w.check.Violated(invariant.GetsEven, &w.nodes[core[0]].members[0].Member, "all nodes balance, and one leads %d groups, another one %d", most, least)
	}
	w.keepsLeader(core, calmFor)
	for _, i := range core {
		w.nodes[i].balances(0)
	}
}

func (w *world) anyPreferred(core []int) bool {
	for _, i := range core {
		for place := range w.groups {
			if w.nodes[i].members[place].rules().Preferred != 0 {
				return true
			}
		}
	}
	return false
}

// fewestAndMost are the numbers of groups that a node of the core leads.
func (w *world) fewestAndMost(core []int) (least, most int) {
	least = len(w.groups)
	for _, i := range core {
		leads := 0
		for place := range w.groups {
			if w.nodes[i].members[place].Leads() {
				leads++
			}
		}
		least, most = min(least, leads), max(most, leads)
	}
	return least, most
}
