// Canonical sessions: what a search needs to take sessions that behave alike for the same.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Snapshot is a session between two steps, as a value: it is copied by assignment and compared
// with ==. It lacks what the session remembers only for others: the last departure, and what the
// end of the ledger is checked against. So when a session goes on from a snapshot, the call of
// Session.Ledger must say that the leader of any term was heard.
type Snapshot struct {
	Machine

	duties Duties // the zero value: there are none
}

// Snapshot returns the session's. No step of it may be waiting.
func (s *Session) Snapshot() Snapshot {
	v := Snapshot{Machine: s.Machine}
	if s.duties != nil {
		v.duties = *s.duties
	}
	return v
}

// Session goes on from the snapshot. It keeps its duties, if it has any, in room, which no other
// session may use meanwhile.
func (v *Snapshot) Session(room *Duties) Session {
	s := Session{Machine: v.Machine}
	if v.duties != (Duties{}) {
		*room = v.duties
		s.duties = room
	}
	return s
}

// CanonicalNow is the time of a canonical snapshot. It is later than any interval that matters is
// long.
const CanonicalNow = 2 * maxDetection

// Canonical removes from the snapshot what does not affect behaviour, as Machine.Canonical does.
// Times are moved so that now becomes CanonicalNow, and a time is kept only if it can still count:
//
//   - When a beat was sent, if that can still begin a lease: the beat has not been answered, or the
//     lease from it has not been taken up. Ages beyond the length of a promise are one, because no
//     lease is longer than the promises that it rests on.
//   - When a lease ends, if that is to come. A lease that has run out ends now.
//
// The other cases:
//
//   - A lease that runs out ends Lead, because the driver does that.
//   - Of a Lead whose context has ended, the term does not matter, unless this member may still lead
//     in that term: Lead is not called for it again.
//   - A pause that no handover waits for is no pause; one that a handover waits for is the first.
//   - If a member resigns of its own accord, it does not matter which orders say so, too.
func (v Snapshot) Canonical(r *Rules, now time.Duration) Snapshot {
	v.Machine = v.Machine.Canonical(r)
	d := &v.duties
	if *d == (Duties{}) {
		return v
	}
	d.sent = d.sent.canonical(&v.Machine, r, &d.lease, now)
	if d.lease.until != 0 {
		left := max(d.lease.until-now, 0)
		d.lease.until = CanonicalNow + left
		d.lead.ending = d.lead.running && (d.lead.ending || left == 0)
	}
	mayLead := v.Role == memberstate.Leader && !v.HoldsNoMoreLease(r) && d.lead.term == v.Term
	if l := &d.lead; (l.ending || !l.running) && !mayLead {
		l.term = 0
	}
	if d.pause.asked {
		d.pause.number, d.pause.running = 1, min(d.pause.running, 1)
	} else {
		d.pause = pause{}
	}
	if o := &d.orders; o.own {
		o.transfers, o.resignations = 0, 0
	}
	return v
}

// HoldsNoMoreLease says whether the term of a canonical snapshot, in a group with leases, has had
// its last lease.
func (v *Snapshot) HoldsNoMoreLease(r *Rules) bool {
	return r.Lease > 0 && (v.leaseVoid() || v.duties.lease.until != 0 && v.duties.lease.until <= CanonicalNow)
}

// canonical keeps the times of the beats that can still begin a lease.
func (s *SentTimes) canonical(m *Machine, r *Rules, l *lease, now time.Duration) (sent SentTimes) {
	if m.Role != memberstate.Leader || r.Lease == 0 || r.others() == 0 || m.leaseVoid() {
		return sent
	}
	for i, at := range s.beats {
		beat := m.Beat() - (m.Beat()-uint32(i))%recentBeats // that has this place
		if m.OfOffice(beat) && at > 0 && (l.until == 0 || beat > m.LeaseBeat()) {
			sent.beats[i], sent.leases[i] = CanonicalNow-min(now-at, r.Timing.Detection()), s.leases[i]
		}
	}
	return sent
}

// StillServing is the same canonical snapshot with a Lead of an earlier term whose context has
// ended and which has not returned. It is false if no member can be in that state.
func (v Snapshot) StillServing(r *Rules) (Snapshot, bool) {
	machine, can := v.stillServing(r)
	l := &v.duties.lead
	if !can || v.Role == memberstate.Leader && (!l.running || l.ending) {
		return v, false
	}
	v.Machine = machine
	*l = lead{running: true, ending: true, quits: l.quits}
	return v, true
}

// Ordered says which kinds of orders stand, as far as the session was told and as that matters.
func (s *Session) Ordered() (transfer, resign bool) {
	if s.duties == nil {
		return false, false
	}
	return s.duties.orders.transfers > 0, s.duties.orders.resignations > 0
}

// Renamed is the snapshot with every member in another seat.
func (v Snapshot) Renamed(name func(memberstate.Seat) memberstate.Seat) Snapshot {
	v.Machine = v.Machine.Renamed(name) // no duty names a member
	return v
}
