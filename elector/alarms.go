// The alarms of all groups of a host: one each.

package elector

import "time"

// alarms is a binary heap of groups by when the host should look at them next.
// A group's alarm is mostly put off, by a heartbeat, so its place in the heap is
// left alone then: it is looked at too early once, and put where it belongs.
type alarms struct {
	heap []*group
}

// set makes the alarm of g due at a time.
func (a *alarms) set(g *group, due time.Duration) {
	g.due = due
	switch {
	case g.place == 0:
		g.look = due
		a.heap = append(a.heap, g)
		g.place = int32(len(a.heap))
		a.up(len(a.heap) - 1)
	case due < g.look:
		g.look = due
		a.up(int(g.place) - 1)
	}
}

// next is when the first group should be looked at, and false if there is none.
func (a *alarms) next() (time.Duration, bool) {
	if len(a.heap) == 0 {
		return 0, false
	}
	return a.heap[0].look, true
}

// ripe takes out a group whose alarm is due, or returns nil.
func (a *alarms) ripe(now time.Duration) *group {
	for len(a.heap) > 0 && a.heap[0].look <= now {
		g := a.heap[0]
		if g.due <= now {
			a.remove(g)
			return g
		}
		g.look = g.due
		a.down(0)
	}
	return nil
}

// remove takes the alarm of g out, if it has one.
func (a *alarms) remove(g *group) {
	if g.place == 0 {
		return
	}
	i, last := int(g.place)-1, len(a.heap)-1
	a.swap(i, last)
	a.heap[last] = nil
	a.heap = a.heap[:last]
	g.place = 0
	if i < last {
		a.up(i)
		a.down(i)
	}
}

func (a *alarms) swap(i, j int) {
	a.heap[i], a.heap[j] = a.heap[j], a.heap[i]
	a.heap[i].place, a.heap[j].place = int32(i+1), int32(j+1)
}

func (a *alarms) up(i int) {
	for i > 0 && a.heap[i].look < a.heap[(i-1)/2].look {
		a.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (a *alarms) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(a.heap) {
			return
		}
		if child+1 < len(a.heap) && a.heap[child+1].look < a.heap[child].look {
			child++
		}
		if a.heap[i].look <= a.heap[child].look {
			return
		}
		a.swap(i, child)
		i = child
	}
}
