// Quiet: when nothing has happened for long, a node holds nothing for work that is over.

package simulation

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/simulation/invariant"
)

// givesBack demands that the nodes of the core hold as little as when they were started. All of their groups have kept
// their leaders for long, and nothing is on its way.
func (w *world) givesBack(core []int) {
	if w.check.Over {
		return
	}
	for _, i := range core {
		n := &w.nodes[i]
		w.check.Counts[invariant.GivenBack]++
		if held := n.host.Holdings(); held != (protocol.Holdings{}) {
			w.check.ViolatedBy(invariant.GivenBack, &n.Node, 0, "it is quiet, and still holds %+v", held)
		}
	}
}
