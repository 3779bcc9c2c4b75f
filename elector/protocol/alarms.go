// The alarms of all groups of a host: one each.

package protocol

import (
	"slices"
	"time"
)

// alarms is a binary heap of the times at which to look at groups. Those times are in the heap
// itself, because the groups do not fit into a processor's cache. No group knows its place in the
// heap, so entries are changed and removed only at the top:
//
// Most often a group's alarm is put off, by a heartbeat. Its entry then stays: the group is looked
// at too early once, and its entry is moved to where it belongs. An alarm that is brought forward
// gets another entry, and the old one is stale, as is the entry of a group that has no alarm any
// more. A stale entry goes when its time comes, and all of them go before the heap grows. So the
// heap has room for no more than a few entries for every group that has an alarm.
type alarms struct {
	heap []look
}

// look is when to look at a group.
type look struct {
	at    time.Duration
	group *Group
}

func (l look) stale() bool { return l.group.desk == nil || l.group.look != l.at }

// set makes the alarm of g due at a time.
func (a *alarms) set(g *Group, due time.Duration) {
	g.due = max(due, 1) // zero means none
	if g.look != 0 && g.look <= g.due {
		return
	}
	g.look = g.due
	a.makeRoom()
	a.heap = append(a.heap, look{g.look, g})
	a.up(len(a.heap) - 1)
}

// makeRoom makes sure that there is room for another entry. If there is none it makes room for
// many, so that this is rare.
func (a *alarms) makeRoom() {
	if len(a.heap) < cap(a.heap) {
		return
	}
	a.heap = slices.DeleteFunc(a.heap, look.stale)
	for i := len(a.heap)/2 - 1; i >= 0; i-- {
		a.down(i)
	}
	a.heap = slices.Grow(a.heap, 1+len(a.heap)/8)
}

// next is when to look again, and false if there is nothing to look at.
func (a *alarms) next() (time.Duration, bool) {
	if len(a.heap) == 0 {
		return 0, false
	}
	return a.heap[0].at, true
}

// ripe takes out a group whose alarm is due, or returns nil.
func (a *alarms) ripe(now time.Duration) *Group {
	for len(a.heap) > 0 && a.heap[0].at <= now {
		top := &a.heap[0]
		g := top.group
		switch {
		case top.stale():
			a.drop()
		case g.due > now:
			g.look, top.at = g.due, g.due
			a.down(0)
		default:
			a.remove(g)
			a.drop()
			return g
		}
	}
	return nil
}

// remove takes the alarm of g away, if it has one.
func (a *alarms) remove(g *Group) { g.look = 0 }

// drop takes out the entry at the top.
func (a *alarms) drop() {
	last := len(a.heap) - 1
	a.heap[0], a.heap[last] = a.heap[last], look{}
	if a.heap = a.heap[:last]; last == 0 {
		a.heap = emptied(a.heap)
		return
	}
	a.down(0)
}

// up and down move the entry at i to where it belongs, above or below.
func (a *alarms) up(i int) {
	moved := a.heap[i]
	for ; i > 0 && moved.at < a.heap[(i-1)/2].at; i = (i - 1) / 2 {
		a.heap[i] = a.heap[(i-1)/2]
	}
	a.heap[i] = moved
}

func (a *alarms) down(i int) {
	moved := a.heap[i]
	for child := 2*i + 1; child < len(a.heap); child = 2*i + 1 {
		if child+1 < len(a.heap) && a.heap[child+1].at < a.heap[child].at {
			child++
		}
		if moved.at <= a.heap[child].at {
			break
		}
		a.heap[i] = a.heap[child]
		i = child
	}
	a.heap[i] = moved
}
