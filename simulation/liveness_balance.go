// Liveness and balance: in a healed group nodes that balance lead about as many groups each, and then nothing moves any more.
// If one of them drains, the others still do.

package simulation

import (
	"slices"
	"time"

	"github.com/hustings/hustings/simulation/invariant"
)

// evenWithin is how many intervals of balance pass until the numbers are even. At least one group moves in each, of at most
// 64; some handovers fail, for example because a ledger is behind.
const evenWithin = 3 * 64

// getsEven has all voters balance, and demands that they lead about as many groups each in the end. It needs all of
// them: what is left while others are silent may not be moved. And all must exchange beats, which nodes whose engines vouch do not.
func (w *world) getsEven(core []int) {
	if !w.allExchange(core) || w.options.Vouch > 0 || len(core) < max(2, w.options.Members) || len(w.groups) < 2*len(core) || !w.handsOverSoon() || w.anyPreferred(core) {
		return
	}
	every := 2 * w.check.Detection()
	for _, i := range core {
		w.nodes[i].balances(every)
	}
	w.run(time.Duration(w.now) + evenWithin*every)
	w.even(core, 0, "all nodes balance")
	w.keepsLeader(core, calmFor)
	for _, i := range core {
		w.nodes[i].balances(0)
	}
	w.staysEven(core)
}

// allExchange says whether all of some nodes exchange beats.
func (w *world) allExchange(nodes []int) bool {
	return w.options.Beats && !slices.ContainsFunc(nodes, func(i int) bool { return w.nodes[i].mute })
}

// staysEven drains one node. The others led about as many groups each before, and do so afterwards.
func (w *world) staysEven(core []int) {
	if w.check.Over || len(core) < 3 {
		return
	}
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection()) // the last handovers for balance
	first := w.lot(core[0], len(core))
	n := &w.nodes[core[first]]
	passedOn := w.check.PassedOn
	n.drains(0)
	if !w.handsAllOver(n) {
		return
	}
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection()) // until the last are led
	w.even(slices.Delete(slices.Clone(core), first, first+1), w.check.PassedOn-passedOn, "another node has drained")
	n.serves(n.Incarnation)
}

// even demands that nodes lead about as many groups each. So many groups may have been taken over by another voter than the first that was
// asked, because that one was behind; each makes a difference of two.
func (w *world) even(nodes []int, passedOn int, after string) {
	if w.check.Over {
		return
	}
	w.check.Counts[invariant.GetsEven]++
	least, most := w.fewestAndMost(nodes)
	if slack := max(2, len(w.groups)/len(nodes)/10) + 2*passedOn; most-least > slack {
		w.check.Violated(invariant.GetsEven, &w.nodes[nodes[0]].members[0].Member, "%s, and one leads %d groups, another one %d", after, most, least)
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
