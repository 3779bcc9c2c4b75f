// The end of a run: no fault strikes any more, so there must soon be a leader that stays. Then the
// leader falls silent, and must be replaced in time.

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
	w.recovered()
	w.ableLeads(leader)
	w.handOver(leader)
	if w.vouch == 0 || w.draw(3) != 0 {
		w.silence(leader)
	} else {
		w.ledAnyway()
	}
}

// recover ends all troubles. Connections are new, so statements and answers under way are lost.
func (w *world) recover() {
	w.tell("all is healed")
	w.calm = true
	w.generation++
	w.database.stalled = w.now
	w.database.locked, w.database.kept = [maxLeases]int64{}, [maxLeases]int64{}
	for _, n := range w.candidates {
		n.reconnect()
		n.far = 0
		n.resume()
		if n.alive {
			n.works()
		}
		if !n.alive {
			n.start()
		}
		for of := range n.seats {
			n.enter(of)
		}
	}
	w.healed = w.now
	for _, n := range w.candidates {
		for of := range n.seats {
			n.orders(of, true)
		}
	}
	for _, s := range w.hung {
		w.at(w.now, s.fails)
	}
}

// way is how long a statement takes at most, there and back, if all is well.
func (w *world) way() time.Duration {
	const atTheDatabase = time.Millisecond + 2*time.Microsecond
	return 2*time.Duration(w.link) + atTheDatabase
}

// converge waits until every lease has a leader. In the worst case, candidates wait for an heir that does
// not come, and those that could claim have an old statement under way, have just left office or are not
// able to lead.
func (w *world) converge() *candidate {
	longest := w.longest()
	within := 2*longest.TTL + 10*longest.Poll + 2*longest.Timeout + 2*timing.DriftMargin + time.Duration(10*w.leases)*w.way()
	leader := w.waitForLeaders(within)
	w.holds(Converges, leader != nil, "a lease has no leader after %v; %s", within, w.database.describe(w.all()))
	return leader
}

// all are all leases.
func (w *world) all() (all []int) {
	for of := range w.leases {
		all = append(all, of)
	}
	return all
}

// longest are the longest intervals of the candidates.
func (w *world) longest() lease.Timing {
	var l lease.Timing
	for of := range w.leases {
		l.TTL = max(l.TTL, w.database.now(of).TTL)
	}
	for _, n := range w.candidates {
		t := n.options.timing
		l.TTL, l.Poll, l.Timeout = max(l.TTL, t.TTL), max(l.Poll, t.Poll), max(l.Timeout, t.Timeout)
	}
	return l
}

// waitForLeaders plays until every lease has a leader, and returns one of them.
func (w *world) waitForLeaders(within time.Duration) *candidate {
	for end := w.now + int64(within); !w.check.over; {
		if leader := w.leaders(); leader != nil {
			return leader
		}
		if !w.next(end) {
			return nil
		}
	}
	return nil
}

// leaders is one of the leaders, if every lease has one.
func (w *world) leaders() (one *candidate) {
	for of := range w.leases {
		if one = w.leader(of); one == nil {
			return nil
		}
	}
	return one
}

// leader is the candidate that holds a lease; nil if none does.
func (w *world) leader(of int) (one *candidate) {
	for _, n := range w.candidates {
		if n.valid(of) {
			one = n
		}
	}
	return one
}

// keep plays on for some TTLs. The leader that was found may be about to leave, or wait for an answer
// that was lost: then another one follows, and stays.
func (w *world) keep(leader *candidate) {
	longest := w.longest()
	w.run(w.now + int64(3*longest.TTL+longest.Timeout))
	before := w.elections
	sent := make([][len(leader.sent)]uint64, len(w.candidates))
	for i, n := range w.candidates {
		sent[i] = n.sent
	}
	w.rests(w.now + 5*ttl)
	for i, n := range w.candidates {
		w.keepsTime(n, &sent[i])
	}
	w.holds(Converges, w.elections == before, "there was an election although nothing has happened since %s led", leader.id)
}

// handOver has the leader resign. If all others are woken, one of them leads at once, and else at the first poll.
func (w *world) handOver(leader *candidate) {
	leader, _ = w.heaviest(leader)
	if w.check.over || w.electable(leader) == 0 {
		return
	}
	poll, told := time.Duration(0), true
	for _, n := range w.candidates {
		told = told && n.listening != 0
		poll = max(poll, n.options.timing.Poll)
	}
	const leadReturns, looks = 10 * time.Millisecond, 10 * time.Millisecond
	before, began := w.elections, w.now
	within := leadReturns + looks + poll/8 + time.Duration(3+w.leases)*w.way()
	if !told {
		within += w.soonestPoll(leader)
	}
	leader.resign(leader.leads())
	for !w.check.over && w.elections == before && w.next(began+int64(2*within)) {
	}
	took := time.Duration(w.now - began)
	w.holds(TakenOver, took <= within, "%s resigned and was replaced only after %v, want within %v", leader.id, took, within)
	w.run(w.now + int64(3*poll)) // until no candidate stands back any more
}

// silence has the leader die, or be cut off, and measures how long it takes until
// another one leads.
func (w *world) silence(leader *candidate) {
	leader, over := w.heaviest(leader)
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
	for end := w.now + int64(2*within+2*t.TTL); w.elections < before+over && !w.check.over; {
		if !w.next(end) {
			break
		}
	}
	w.takenOver, w.demanded = time.Duration(w.now-began), !w.check.over
	w.holds(TakenOver, w.takenOver <= within, "%s was replaced only after %v, want within %v", leader.id, w.takenOver, within)
}

// heaviest is a leader with as many leases as any, and how many it has.
func (w *world) heaviest(leader *candidate) (one *candidate, most uint64) {
	one = leader
	for _, n := range w.candidates {
		leads := uint64(0)
		for of := range w.leases {
			if n.valid(of) {
				leads++
			}
		}
		if leads > most {
			one, most = n, leads
		}
	}
	return one, most
}

// electable counts the candidates that may follow a leader at once.
func (w *world) electable(leader *candidate) (others int) {
	for _, n := range w.candidates {
		if n != leader && n.isAble() {
			others++
		}
	}
	return others
}

// bound is the time within which a silent leader is replaced: its TTL, the margin, a poll of the first
// candidate, two in strict mode, and the statements under way at that time.
func (w *world) bound(leader *candidate) time.Duration {
	polls := time.Duration(1)
	if w.options.Strict {
		polls = 2
	}
	t := leader.options.timing
	others := time.Duration(w.leases-1) * (1 + polls) // reads and claims that may come first
	return t.TTL + t.DriftMargin + polls*w.soonestPoll(leader) + (1+2*polls+others)*w.way()
}

// soonestPoll is within how long one of those that may follow a leader at once polls.
func (w *world) soonestPoll(leader *candidate) time.Duration {
	soonest := time.Hour
	for _, n := range w.candidates {
		if n != leader && n.isAble() {
			soonest = min(soonest, time.Duration(n.clock.lasts(n.options.timing.Poll)))
		}
	}
	return soonest
}
