// Answers to statements: the keeper gets them, and their consequences are counted.

package leases

import (
	"errors"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/protocol"
)

// told gives the keeper an answer, and counts what it led to.
func (n *candidate) told(s *statement, a *protocol.Answer) {
	switch s.call.Kind {
	case protocol.Read:
		if s.call.Number == n.looking {
			n.lookOver = min(n.lookOver, n.now())
		}
		if a.Err == nil {
			n.reads(s.touches, a.Records)
		}
		n.step(a)
	case protocol.Acquire:
		n.toldOfClaim(s, a)
	case protocol.Renew:
		n.toldOfRenewal(a)
		n.step(a)
	case protocol.Release:
		if w := &n.seats[s.touches[0]].awaited; w.release != 0 {
			w.release = min(w.release, n.now())
		}
		n.step(a)
	case protocol.Wake, protocol.Listen:
		n.step(a)
	}
}

// reads notes a read for the checks, unless it is older than what was known.
func (n *candidate) reads(leases []int, found []lease.Record) {
	for _, of := range leases {
		s, r := &n.seats[of], none(of)
		for i := range found {
			if found[i].Name == names[of] {
				r = found[i]
			}
		}
		s.looked = n.now()
		if r.Term < s.shown {
			continue
		}
		if r.Term != s.read.Term || r.Renewals != s.read.Renewals {
			s.still, s.free = n.now(), 0
		}
		s.read, s.stoodStill = r, n.now()-s.still
		switch free := n.free(s); {
		case !free:
			s.free = 0
		case s.free == 0:
			s.free = n.now()
		}
		if r.Holder == n.id && r.Term == s.term && !n.free(s) {
			s.stands = n.now() + 2*n.options.timing.Poll // it could not be released, and others wait
		}
		if s.found = n.free(s) && !n.options.observer && n.now() >= s.stands; s.found {
			s.awaited.look = 0 // it may be claimed
		}
	}
}

// free says whether a lease that was read may be claimed.
func (n *candidate) free(s *seat) bool {
	r := &s.read
	return r.Left <= 0 || r.Released || r.Holder == n.id && r.Term != s.term || n.options.strict && s.stoodStill >= r.TTL
}

// toldOfClaim counts the results of claims.
func (n *candidate) toldOfClaim(s *statement, a *protocol.Answer) {
	w, of := n.world, s.touches[0]
	seat := &n.seats[of]
	seat.claiming--
	elections, released, number := w.elections, n.sent[protocol.Release], n.number
	ours, late := seat.read.Holder == n.id, n.now() >= s.deadline
	if n.cuts-s.cuts > 1 {
		w.met(CutTwice)
	}
	if seat.late++; !late {
		seat.late = 0
	} else if seat.late > 1 {
		w.met(LateTwice)
	}
	n.step(a)
	switch {
	case late || n.number != number:
	case a.Err == nil && !a.Won:
		w.met(Refused)
	case ours:
		w.met(WonUnknown)
	case a.Err != nil || w.elections != elections:
	case n.sent[protocol.Release] != released:
		w.met(WonLeaving)
	default:
		w.met(WonTooLate)
	}
}

// toldOfRenewal counts renewals that come too late, or are not answered.
func (n *candidate) toldOfRenewal(a *protocol.Answer) {
	w := n.world
	if _, locked := errors.AsType[*lease.LockedError](a.Err); locked {
		w.met(LeftOut)
	} else if a.Err != nil {
		w.met(Unanswered)
	}
	for _, name := range a.Kept {
		if l := n.seats[lookUp(name)].lease; l != nil && n.now() >= l.Until() {
			w.met(AnsweredTooLate)
		}
	}
}
