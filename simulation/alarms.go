// The nodes' alarms: each has one, and sets it again and again.

package simulation

import "math"

// alarms are when they ring, in true time. Most of what happens does not change whose
// rings first.
type alarms struct {
	due   []int64 // by node; 0: it is not set
	first int     // whose rings first; of those that ring at once the smallest index
	at    int64   // and when
}

// silent is when an alarm rings that is not set.
const silent = math.MaxInt64

// set has a node's alarm ring at a time; 0: it does not.
func (a *alarms) set(index int, at int64) {
	if a.due[index] == at {
		return
	}
	a.due[index] = at
	switch {
	case index == a.first:
		a.look()
	case at != 0 && (at < a.at || at == a.at && index < a.first):
		a.first, a.at = index, at
	}
}

// look finds whose rings first.
func (a *alarms) look() {
	a.first, a.at = 0, silent
	for i, at := range a.due {
		if at != 0 && at < a.at {
			a.first, a.at = i, at
		}
	}
}
