// Liveness and balance: in a healed group nodes that balance lead about as much each, and then nothing moves any more.
// If one of them drains, the others still do. How much that is is counted here from what leads, and not taken from the nodes.

package simulation

import (
	"math"
	"slices"
	"time"

	"github.com/hustings/hustings/simulation/invariant"
)

// evenWithin is how many intervals of balance pass until the loads are even. At least one group moves in each, of at most
// 64; some handovers fail, for example because a ledger is behind.
const evenWithin = 3 * 64

// keepsFor is for how many intervals of balance a node keeps what it has begun to lead.
const keepsFor = 30

// getsEven has all voters balance, and demands that they lead about as much each in the end. It needs all of
// them: what is left while others are silent may not be moved. And all must exchange beats, which nodes whose engines vouch do not. The ledgers
// of careless engines may never be equal, and then nobody can take over.
func (w *world) getsEven(core []int) {
	if !w.allExchange() || w.options.Careless != Careful || w.options.Vouch > 0 || len(core) < max(2, w.options.Members) || len(w.groups) < 2*len(core) || !w.handsOverSoon() || w.anyPreferred(core) {
		return
	}
	w.weighs(core)
	before, every := w.reigns(core), 2*w.check.Detection()
	for _, i := range core {
		w.nodes[i].balances(every)
	}
	w.run(time.Duration(w.now) + evenWithin*every)
	w.movedSeldom(core, before)
	w.even(core)
	w.keepsLeader(core)
	for _, i := range core {
		w.nodes[i].balances(0)
	}
	w.staysEven(core)
}

// movedSeldom demands that no group went back and forth: each node that it came to has kept it for a while.
func (w *world) movedSeldom(core []int, before []reign) {
	const most = 1 + evenWithin/keepsFor
	for place, now := range w.reigns(core) {
		w.check.Counts[invariant.GetsEven]++
		if moved := now.term - before[place].term; moved > most && !w.check.Over {
			w.check.Violated(invariant.GetsEven, &w.nodes[core[0]].members[place].Member, "its leader has changed %d times while nodes balanced for %d intervals, and may change %d times", moved, evenWithin, most)
		}
	}
}

// allExchange says whether all nodes exchange beats, observers, too: of one that does not nobody knows whether it is there.
func (w *world) allExchange() bool {
	return w.options.Beats && !slices.ContainsFunc(w.nodes, func(n node) bool { return n.mute })
}

// staysEven drains one node. The others led about as much each before, and do so afterwards.
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
	w.evenAfterDrain(slices.Delete(slices.Clone(core), first, first+1), w.check.PassedOn-passedOn)
	n.serves(n.Incarnation)
}

// even demands that nodes that balance lead about as much each for their capacity. A node keeps its lightest group if the other one would
// have as large a load with it.
func (w *world) even(nodes []int) {
	if w.check.Over {
		return
	}
	slack := w.slackOf(nodes)
	w.compare(nodes, "all nodes balance", func(a, b *burden) float64 {
		return max(slack, a.lightest/b.capacity)
	})
}

// evenAfterDrain demands the same after another node has drained. That gives each group to the smallest load, so the last one
// makes the largest difference. So many groups may have been taken over by another voter than the first that was asked, because that one was
// behind; each makes a difference at both.
func (w *world) evenAfterDrain(nodes []int, passedOn int) {
	if w.check.Over {
		return
	}
	slack, heaviest := w.slackOf(nodes), w.heaviest()
	w.compare(nodes, "another node has drained", func(a, b *burden) float64 {
		one := heaviest/a.capacity + heaviest/b.capacity
		return max(slack, one) + float64(passedOn)*one
	})
}

// burden is what a node leads, and the part of a usual node that it should lead.
type burden struct {
	weight, capacity float64
	lightest         float64 // of its groups
}

func (b *burden) load() float64 { return b.weight / b.capacity }

// burden is counted anew for a node. It must be what the node has counted.
func (w *world) burden(i int) burden {
	n := &w.nodes[i]
	all := burden{capacity: float64(w.capacity(i)) / 100, lightest: math.Inf(1)}
	for place := range w.groups {
		if n.members[place].Leads() {
			one := float64(w.weight(place))
			all.weight, all.lightest = all.weight+one, min(all.lightest, one)
		}
	}
	if said := n.host.Progress(); float64(said.Weight) != all.weight || said.Capacity != w.capacity(i) {
		w.check.ViolatedBy(invariant.GetsEven, &n.Node, 0, "it leads a weight of %v with a capacity of %d, and says %d and %d", all.weight, w.capacity(i), said.Weight, said.Capacity)
	}
	return all
}

// compare demands that no load of a node is larger than another one by more than allowed.
func (w *world) compare(nodes []int, after string, allowed func(a, b *burden) float64) {
	w.check.Counts[invariant.GetsEven]++
	for _, i := range nodes {
		for _, j := range nodes {
			a, b := w.burden(i), w.burden(j)
			if most := allowed(&a, &b); math.Floor(a.load()-b.load()+rounding) > math.Floor(most+rounding) && !w.check.Over {
				w.check.Violated(invariant.GetsEven, &w.nodes[i].members[0].Member, "%s, and n%d leads a weight of %v for its capacity of %v, n%d %v for %v; the loads may differ by %v",
					after, i, a.weight, a.capacity, j, b.weight, b.capacity, most)
			}
		}
	}
}

// rounding is less than any difference between two loads.
const rounding = 1e-9

// slackOf is by how much loads may differ: by two usual groups, or a tenth of the mean.
func (w *world) slackOf(nodes []int) float64 {
	weight, capacity := 0.0, 0.0
	for place := range w.groups {
		weight += float64(w.weight(place))
	}
	for _, i := range nodes {
		capacity += float64(w.capacity(i)) / 100
	}
	return max(2, weight/capacity/10)
}

func (w *world) heaviest() (most float64) {
	for place := range w.groups {
		most = max(most, float64(w.weight(place)))
	}
	return most
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
