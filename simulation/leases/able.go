// What must hold of candidates that are not able to lead.

package leases

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	keeper "github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/memberstate"
)

// rarely counts how often a candidate has given up a lease for want of ability.
type rarely struct {
	last    time.Duration // when it last did; 0: never
	shorter [8]int        // how many of the times between were shorter than 2^k TTLs
}

// shows notes whether a candidate shows that it is able to lead, and checks that it gives up its lease
// only if it is not, and rarely.
func (n *candidate) shows(of int, v *keeper.View) {
	w, s := n.world, &n.seats[of]
	if s.inability != v.Inability {
		n.holdsBack(of, v.Inability)
	}
	s.inability = v.Inability
	gaveUp := s.led && v.Role != memberstate.Leader && v.Departure == protocol.DepartedNotAble
	s.led = v.Role == memberstate.Leader
	if !gaveUp {
		return
	}
	w.met(GaveUp)
	w.holds(Kept, n.mayGiveUp(of), "%s gives up %s although nothing keeps it from leading", n.id, names[of])
	if s.rarely.last != 0 {
		w.met(GaveUpAgain)
		n.gaveUpAgain(of, n.now()-s.rarely.last)
	}
	s.rarely.last = n.now()
}

// holdsBack checks that a candidate that fails again and again shows ever later that it is able, unless its
// process stood still meanwhile.
func (n *candidate) holdsBack(of int, now keeper.Inability) {
	s, t := &n.seats[of], n.options.timing
	fails := func(i keeper.Inability) bool {
		return i != protocol.Able && i != protocol.NotAbleHold && i != protocol.NotAbleOrdered
	}
	switch {
	case fails(now) && !fails(s.inability):
		if n.now()-s.recovering > t.TTL<<7 {
			s.failed = 0 // it may have begun anew
		}
		s.failed++
	case fails(s.inability) && !fails(now):
		s.recovering = n.now()
	case now == protocol.Able && s.failed > 0 && n.stoodStill == 0:
		least := t.TTL<<min(s.failed-1, 7) - t.Renew
		n.world.holds(GivesUpRarely, n.now()-s.recovering >= least, "%s shows that it is able %v after it failed for the %dth time", n.id, n.now()-s.recovering, s.failed)
	}
}

// gaveUpAgain counts the times between. After a long one, the candidate may have begun anew.
func (n *candidate) gaveUpAgain(of int, between time.Duration) {
	s, t := &n.seats[of], n.options.timing
	if between > t.TTL<<(len(s.rarely.shorter)-1) {
		s.rarely = rarely{}
	}
	for k := range s.rarely.shorter {
		if between < t.TTL<<k {
			s.rarely.shorter[k]++
		}
		n.world.holds(GivesUpRarely, s.rarely.shorter[k] <= max(0, 2*k-1), "%s gives up %s again after %v, and for the %dth time after less than %v",
			n.id, names[of], between, s.rarely.shorter[k], t.TTL<<k)
	}
}

// claimsLast checks that a candidate that is not able to lead claims a lease only when it has stood free
// for four polls.
func (n *candidate) claimsLast(of int) {
	s := &n.seats[of]
	if s.inability == protocol.Able {
		return
	}
	stood := n.now() - s.free
	n.world.holds(StandsBack, stood >= 4*n.options.timing.Poll, "%s is not able to lead, and claims %s, which has stood free for only %v", n.id, names[of], stood)
}

// recovered checks that candidates whose services have worked for longer than their hold are able.
func (w *world) recovered() {
	for _, n := range w.candidates {
		t, fails := n.options.timing, n.service.fails
		hold := t.TTL << max(0, fails-1)
		if !n.alive || n.options.observer || fails > 6 || time.Duration(w.now-w.healed) < hold+hold/100+4*t.Renew {
			continue
		}
		w.holds(Recovers, n.isAble(), "%s is still not able to lead %v after it failed for the %dth time", n.id, time.Duration(w.now-w.healed), fails)
	}
}

// ableLeads has the service of a leader hang, or be unwell, for good, and demands that others that are able
// replace it.
func (w *world) ableLeads(leader *candidate) {
	leader, over := w.heaviest(leader)
	if w.check.over || w.vouch == 0 || w.electable(leader) == 0 || !leader.isAble() {
		return
	}
	within, before, began := w.bound(leader)+2*leader.options.timing.Renew, w.elections, w.now
	if (w.asks || w.judges) && w.draw(2) == 0 {
		leader.service.unwell = true
		w.tell("the service of %s is not well any more", leader.id)
	} else {
		leader.hangs(w.draw(2) == 0)
		within += w.vouch
	}
	if !leader.service.stuck {
		within -= leader.options.timing.TTL // the lease is released
	}
	for end := w.now + int64(2*within); w.elections < before+over && w.next(end) && !w.check.over; {
	}
	took := time.Duration(w.now - began)
	w.holds(AbleLeads, took <= within, "%s is not able to lead and was replaced only after %v, want within %v", leader.id, took, within)
}

// ledAnyway has all services hang for good, and demands that every lease has a leader again and again.
func (w *world) ledAnyway() {
	if w.check.over || w.vouch == 0 {
		return
	}
	for _, n := range w.candidates {
		n.works() // so that Lead returns
		n.hangs(false)
	}
	const leadReturns = 10 * time.Millisecond
	within := int64(leadReturns+6*w.longest().Poll+time.Duration(10*w.leases)*w.way()) * 101 / 100
	vacant := make([]int64, w.leases) // since when; 0: it has a leader
	for end := w.now + int64(w.vouch) + 30*ttl; w.next(end) && !w.check.over; {
		for of := range vacant {
			switch led := w.leader(of) != nil; {
			case led:
				vacant[of] = 0
			case vacant[of] == 0:
				vacant[of] = w.now
			default:
				w.often(LedAnyway, w.now-vacant[of] <= within, func() string {
					return "nobody is able to lead, and nobody has led for too long: " + w.database.describe(w.all())
				})
			}
		}
	}
}
