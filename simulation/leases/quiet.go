// Quiet: when nothing has gone wrong for long, a candidate holds nothing for work that is over.

package leases

import "github.com/hustings/hustings/lease/protocol"

// rests plays until a time, and demands that every keeper holds nothing at some moment until then. It looks and
// renews all the time, but not without a break.
func (w *world) rests(until int64) {
	busy := make([]protocol.Holdings, len(w.candidates)) // what each was last seen to hold
	for i, n := range w.candidates {
		busy[i] = n.keeper.Holdings()
	}
	for !w.check.over && w.next(until) {
		for i, n := range w.candidates {
			if busy[i] != (protocol.Holdings{}) {
				busy[i] = n.keeper.Holdings()
			}
		}
	}
	for i, n := range w.candidates {
		w.holds(GivenBack, busy[i] == protocol.Holdings{}, "it is quiet, and %s still holds %+v", n.id, busy[i])
	}
}
