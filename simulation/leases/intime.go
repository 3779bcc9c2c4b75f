// How late: what must follow within a time, also while faults strike.
//
// The bounds follow from the intervals of the candidate, and hold by its own clock. Nothing is demanded of a process
// that stood still meanwhile, nor where drivers hang: those keep the places that later calls wait for.

package leases

import (
	"time"

	"github.com/hustings/hustings/lease/protocol"
)

// awaited is what a keeper owes one lease. A time is zero if it owes nothing.
type awaited struct {
	look    time.Duration // since the wake-up
	release time.Duration // from when the last attempt has failed, or will have at the latest
	vacancy time.Duration // since Lead has returned
}

// slack is how late an alarm and what follows from it may be.
const slack = time.Millisecond

// woken tells the keeper that a lease may have been released. It must look at the lease soon, if it watches it.
func (n *candidate) woken(of int) {
	s := &n.seats[of]
	if watches := s.in && !s.retired && !s.inOffice && !s.found && s.claiming == 0; watches && s.awaited.look == 0 {
		s.awaited.look = n.now()
	}
	n.step(protocol.Woken{Name: names[of]})
}

// looks checks that a look at a lease that was woken is not late. Only one look is under way at a time, so this one
// may have waited for the answer to another.
func (n *candidate) looks(of int) {
	a := &n.seats[of].awaited
	n.inTime(a.look, max(a.look, n.lookOver), n.options.timing.Poll/8, "looks after a wake-up at "+names[of])
	a.look = 0
}

// releases checks that the next attempt at a release is not late, unless it may have waited for its place.
func (n *candidate) releases(of int) {
	s, t := &n.seats[of], n.options.timing
	if n.options.limits.Calls[protocol.Release] >= maxLeases {
		const growing = 3 // the first waits are shorter
		failed := s.tries - 1
		n.inTime(s.awaited.release, s.awaited.release, t.Renew/4>>max(0, growing+1-failed), "tries again to release "+names[of])
	}
	s.awaited.release = n.now() + t.Timeout
}

// vacates checks that an office is over when its lease is, unless the last attempt to release it is still waited for.
func (n *candidate) vacates(of int) {
	s, t := &n.seats[of], n.options.timing
	over := max(s.awaited.vacancy, s.asked+t.TTL-t.DriftMargin, s.awaited.release)
	n.inTime(s.awaited.vacancy, over, 0, "ends its office of "+names[of])
	s.awaited, s.inOffice = awaited{}, false
}

// listens checks that a candidate is not deaf for long.
func (n *candidate) listens() {
	n.inTime(n.deafened, n.deafened, n.options.timing.Poll, "listens again")
	n.deafened = 0
}

// inTime checks that the keeper does something within a time from a moment on, if it owes that.
func (n *candidate) inTime(owed, since, within time.Duration, what string) {
	if owed != 0 && !n.world.enabled.Has(Hang) {
		n.world.often(InTime, n.now()-since <= within+slack, func() string {
			return n.id + " " + what + " only after " + (n.now() - since).String() + ", want within " + within.String()
		})
	}
}

// excused forgets what a process owes that stood still.
func (n *candidate) excused() {
	n.deafened = 0
	for of := range n.seats {
		n.seats[of].awaited = awaited{}
	}
}
