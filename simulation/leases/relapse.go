// Trouble that comes twice within one operation.
//
// Faults that are drawn one by one rarely strike the same operation twice, and what is wrong at the second time only is
// not seen: a deadline that is reset, a count that is forgotten. So trouble may come back, once or more, soon after it
// has ended.

package leases

import "github.com/hustings/hustings/lease/protocol"

// afflicted is what will strike the next statement of each kind of a candidate.
type afflicted [protocol.Listen + 1]FaultSet

// chance says whether a fault strikes a statement, perhaps because it has struck the one before.
func (s *statement) chance(f Fault) bool {
	w, again := s.from.world, &s.from.again[s.call.Kind]
	struck := w.chance(f)
	if !w.enabled.Has(Relapse) || w.calm {
		return struck
	}
	if again.Has(f) {
		*again &^= 1 << f
		w.struck[f]++
		w.struck[Relapse]++
		struck = true
	}
	if struck && w.draw(2) == 0 {
		*again |= 1 << f
	}
	return struck
}

// relapses has trouble that has ended come back soon, or not.
func (w *world) relapses(again func()) {
	if w.calm || !w.enabled.Has(Relapse) || w.draw(2) == 0 {
		return
	}
	w.at(w.now+w.draw(int64(timing.Renew/2)), func() {
		if !w.calm {
			w.struck[Relapse]++
			again()
		}
	})
}
