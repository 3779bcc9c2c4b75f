// Uneven worlds: some groups are more work to lead than others, and some nodes should lead more than others. Nothing but balance
// and drains may depend on that.

package simulation

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/simulation/internal/choice"
)

// weight is that of a group at all nodes: from 1 to 4, or 1 but for one group that weighs as much as many. Weights
// change when the world is healed.
func (w *world) weight(place int) int {
	switch kind, groups := w.options.Uneven%5, uint64(len(w.groups)); {
	case w.options.Uneven == 0:
	case kind == 0 || kind == 3:
		return 1 + int(w.uneven(place, w.weighed)%4)
	case (kind == 1 || kind == 4) && uint64(place) == w.uneven(maxGroups, w.weighed)%groups:
		return 2 + len(w.groups)/4
	}
	return 1
}

// capacity is that of a node: half of the usual one, the usual one, or twice as much.
func (w *world) capacity(node int) int {
	if w.options.Uneven%5 < 2 {
		return protocol.UsualCapacity
	}
	return [...]int{50, 100, 200}[w.uneven(node, 0)%3]
}

// uneven draws a number. It depends on the options alone, so that a run can be written down.
func (w *world) uneven(of, times int) uint64 {
	return choice.Scramble(uint64(w.options.Uneven)<<32 ^ uint64(times)<<16 ^ uint64(of))
}

// weighs gives all groups other weights, at the nodes of the core. Capacities stay what they are.
func (w *world) weighs(core []int) {
	if w.options.Uneven == 0 {
		return
	}
	w.weighed++
	for _, i := range core {
		var all []protocol.Request
		for place := range w.groups {
			r := w.nodes[i].members[place].about(protocol.AskWeight)
			r.Number, r.Settled = uint32(w.weight(place)), func(error) {}
			all = append(all, r)
		}
		w.nodes[i].ask(all...)
	}
}
