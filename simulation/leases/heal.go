// The end of a run: faults strike no more, so somebody must lead soon, and stay; then
// the leader falls silent, and must be replaced in time.

package leases

import (
	"time"

	"github.com/hustings/hustings/lease"
)

// heal ends a run.
func (w *world) heal() {
	if w.check.over || w.check.excused {
		return
	}
	w.recover()
	leader := w.converge()
	if leader == nil {
		return
	}
	w.keep(leader)
	w.silence(leader)
}

// recover ends what goes wrong. Connections are new, so that what is on its way is lost.
func (w *world) recover() {
	w.tell("all is healed")
	w.calm = true
	w.generation++
	w.database.stalled, w.database.locked = w.now, w.now
	for _, n := range w.candidates {
		n.reconnect()
		n.far = 0
		n.resume()
		if !n.alive {
			n.start()
		}
	}
}

// way is how long a statement takes at most, there and back, where all is well.
func (w *world) way() time.Duration {
	const atTheDatabase = time.Millisecond + 2*time.Microsecond
	return 2*time.Duration(w.link) + atTheDatabase
}

// converge waits until somebody leads. The worst that it may take: an heir who does not
// come is waited for; whoever might claim has an old statement on its way, or has just
// left office.
func (w *world) converge() *candidate {
	longest := w.longest()
	within := 2*longest.TTL + 4*longest.Poll + 2*longest.Timeout + 2*timing.DriftMargin + 10*w.way()
	leader := w.waitForLeader(within)
	w.holds(Converges, leader != nil, "nobody leads after %v; %s", within, w.database.describe())
	return leader
}

// longest are the longest intervals that count.
func (w *world) longest() lease.Timing {
	l := lease.Timing{TTL: w.database.now().TTL}
	for _, n := range w.candidates {
		t := n.options.timing
		l.TTL, l.Poll, l.Timeout = max(l.TTL, t.TTL), max(l.Poll, t.Poll), max(l.Timeout, t.Timeout)
	}
	return l
}

// waitForLeader plays until somebody leads.
func (w *world) waitForLeader(within time.Duration) *candidate {
	for end := w.now + int64(within); !w.check.over; {
		for _, n := range w.candidates {
			if n.valid() {
				return n
			}
		}
		e, ok := w.queue.Next(end)
		if !ok {
			w.now = end
			return nil
		}
		w.now = e.At
		w.happen(e.What)
	}
	return nil
}

// keep plays on for some TTLs. The leader that was found may have been about to go, or
// wait for an answer that was lost: then another one follows, and stays.
func (w *world) keep(leader *candidate) {
	longest := w.longest()
	w.run(w.now + int64(3*longest.TTL+longest.Timeout))
	before := w.elections
	w.run(w.now + 5*ttl)
	w.holds(Converges, w.elections == before, "there was an election though nothing happened since %s led", leader.id)
}

// silence has the leader die, or be cut off, and measures how long it takes until
// another one leads.
func (w *world) silence(leader *candidate) {
	for _, n := range w.candidates {
		if n.valid() {
			leader = n
		}
	}
	if w.check.over || w.electable(leader) == 0 {
		return
	}
	t := leader.options.timing
	within, before, began := w.bound(leader), w.elections, w.now
	if w.draw(2) == 0 {
		leader.die()
	} else {
		leader.cut = true
		w.tell("%s is cut off for good", leader.id)
	}
	for end := w.now + int64(2*within+2*t.TTL); w.elections == before && !w.check.over; {
		e, ok := w.queue.Next(end)
		if !ok {
			break
		}
		w.now = e.At
		w.happen(e.What)
	}
	w.takenOver, w.demanded = time.Duration(w.now-began), !w.check.over
	w.holds(TakenOver, w.takenOver <= within, "%s was replaced after %v, not within %v", leader.id, w.takenOver, within)
}

// electable counts those who might follow a leader.
func (w *world) electable(leader *candidate) (others int) {
	for _, n := range w.candidates {
		if n != leader && n.alive && !n.options.observer {
			others++
		}
	}
	return others
}

// bound is within what time a silent leader is replaced: its TTL, the margin, and a
// poll of whoever is first, two in strict mode; and what is under way at that time.
func (w *world) bound(leader *candidate) time.Duration {
	polls := time.Duration(1)
	if w.options.Strict {
		polls = 2
	}
	soonest := time.Hour
	for _, n := range w.candidates {
		if n != leader && n.alive && !n.options.observer {
			soonest = min(soonest, time.Duration(n.clock.lasts(n.options.timing.Poll)))
		}
	}
	t := leader.options.timing
	return t.TTL + t.DriftMargin + polls*soonest + (1+2*polls)*w.way()
}
