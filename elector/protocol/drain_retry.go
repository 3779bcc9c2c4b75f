// When a node that drains tries a group again that it could not hand over (D28).
//
// It waits for a detection time, and for twice as long each time that the group could not be handed over. But if nobody was there
// to take the group over, it tries again as soon as somebody is: a voter that answers again, or is able again. And it tries all groups
// again when another node serves again, or when an operator orders the drain again.

package protocol

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
)

const (
	// maxTries bounds the wait for the next try to 2^(maxTries-1) detection times.
	maxTries = 8
	// hopeless is after how many tries a group is said to be stuck for good. It is tried on all the same.
	hopeless = 3
)

// retries are groups that were tried equally often, in the order in which they are tried again.
type retries struct {
	all   []retry
	first int
}

type retry struct {
	group *Group
	at    time.Duration
}

// add adds a group behind those that are tried again before it. That is nearly always the end, unless groups have different intervals.
func (l *retries) add(one retry) {
	later := func(r retry, at time.Duration) int {
		if r.at <= at {
			return -1
		}
		return 1
	}
	if l.first > len(l.all)/2 {
		l.all, l.first = slices.Delete(l.all, 0, l.first), 0
	}
	place, _ := slices.BinarySearchFunc(l.all[l.first:], one.at, later)
	l.all = slices.Insert(l.all, l.first+place, one)
}

// sticks notes that a group could not be handed over.
func (n *Node) sticks(g *Group, m move, why Stuck) {
	d := &n.draining
	wait := g.Rules.Timing.Detection() << min(m.tries, maxTries-1)
	m.order, m.why, m.next = nil, why, n.now+wait
	d.later[min(m.tries, maxTries-1)].add(retry{g, m.next})
	m.tries = min(m.tries+1, maxTries)
	d.moves[g] = m
	d.stuck[why]++
	if m.tries < hopeless {
		d.young++
	}
}

// retry has groups that are stuck tried again whose time has come.
func (n *Node) retry() {
	for i := range n.draining.later {
		l := &n.draining.later[i]
		for l.first < len(l.all) && l.all[l.first].at <= n.now {
			if n.draining.waits(&l.all[l.first]) {
				n.draining.add(l.all[l.first].group)
			}
			l.all[l.first] = retry{}
			l.first++
		}
		if l.first == len(l.all) {
			l.all, l.first = emptied(l.all), 0
		}
	}
}

// retryAll has all groups that are stuck tried again now.
func (d *drain) retryAll() {
	for i := range d.later {
		l := &d.later[i]
		for _, r := range l.all[l.first:] {
			if d.waits(&r) {
				d.add(r.group)
			}
		}
		*l = retries{}
	}
}

// heirs are the voters that answer and are able, and whose nodes serve, as far as the group's leader knows.
func (g *Group) heirs() memberstate.Set {
	s := g.Peek()
	return g.answering() &^ s.unable &^ g.Rules.lastChoice()
}

// reconsiderMove looks at a group after a step of its machine. The question who takes it over is given up when nobody is left
// to be asked. If the group is stuck because nobody was there to take it over, it is tried again as soon as there is somebody who
// was not there at the last try. That is done once before each regular try: a voter that comes and goes must not keep the node busy.
func (n *Node) reconsiderMove(g *Group) {
	d := &n.draining
	m, tried := d.moves[g]
	if !tried {
		return
	}
	heirs := g.heirs()
	switch {
	case m.order != nil:
		if g.isRefused() {
			d.refused = append(d.refused, g)
		}
	case m.why <= StuckNotAble && m.next != 0 && !m.early && heirs&^m.heirs != 0:
		m.next = 0 // it does not wait for that time any more
		d.add(g)
	}
	m.heirs &= heirs
	d.moves[g] = m
}

// waits says whether a group is still stuck, and waits for this try.
func (d *drain) waits(r *retry) bool {
	m, tried := d.moves[r.group]
	return tried && m.order == nil && m.next == r.at
}
