// Alarms: every node has one, and sets it again and again.

package agenda

import "math"

// Alarms are the times at which they ring, in true time. Most events do not change which one rings
// first.
type Alarms struct {
	due   []int64 // by node; 0: it is not set
	first int     // the node whose alarm rings first; of those that ring at once, the smallest index
	at    int64   // and when
}

// silent is when an alarm rings that is not set.
const silent = math.MaxInt64

// Add makes room for another node, whose alarm is not set.
func (a *Alarms) Add() {
	a.due = append(a.due, 0)
	a.look()
}

// First is the node whose alarm rings first, and when that is.
func (a *Alarms) First() (index int, at int64) { return a.first, a.at }

// Set has a node's alarm ring at a time; with 0 it does not ring.
func (a *Alarms) Set(index int, at int64) {
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

// look finds the one that rings first.
func (a *Alarms) look() {
	a.first, a.at = 0, silent
	for i, at := range a.due {
		if at != 0 && at < a.at {
			a.first, a.at = i, at
		}
	}
}
