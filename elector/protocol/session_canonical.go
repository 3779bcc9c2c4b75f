// Sessions that behave alike, for those who look at all of them.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Snapshot is a session between two steps, as a value: it is copied by assignment and
// compared with ==. It lacks what the session remembers for others alone: what was shown,
// and what the end of the ledger is held against. So a session that goes on from one must
// be told that the leader of any term was heard (Session.Ledger).
type Snapshot struct {
	Machine

	duties Duties // the zero value: there are none
}

// Snapshot is what the session is now. No step of it must be waiting.
func (s *Session) Snapshot() Snapshot {
	v := Snapshot{Machine: s.Machine}
	if s.duties != nil {
		v.duties = *s.duties
	}
	return v
}

// Session is a session that goes on from a snapshot. It keeps its duties, if it has any, in
// room, which it must have for itself.
func (v *Snapshot) Session(room *Duties) Session {
	s := Session{Machine: v.Machine}
	if v.duties != (Duties{}) {
		*room = v.duties
		s.duties = room
	}
	return s
}

// CanonicalNow is what time it is in a canonical snapshot. It is later than any time that
// matters is ago.
const CanonicalNow = 2 * maxDetection

// Canonical is the snapshot without what tells apart two that behave alike, in the way of
// Machine.Canonical. Times are moved so that now becomes CanonicalNow, and of times only
// those are kept that can still count:
//
//   - A beat was sent at a time that can still begin a lease. It was not yet answered, or its
//     lease has not been taken up, and how long ago it was does not matter once that is as
//     long as promises last, because no lease is longer than the promises that it rests on.
//   - A lease ends at a time that has not come. One that has run out ends now.
//
// A lease that runs out ends Lead, because the driver sees to that. And of a Lead that was
// told to end it does not matter which one it is, unless it is that of a term in which this
// member may lead on, whose Lead is not begun again. A pause that no handover waits for is as
// good as none, and that for which one does becomes the first. Nor does it matter who orders a member to resign that does
// so of its own accord.
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
		d.pause.number = 1
	} else {
		d.pause = pause{}
	}
	if o := &d.orders; o.own {
		o.transfers, o.resignations = 0, 0
	}
	return v
}

// HoldsNoMoreLease says whether the term of a canonical snapshot is one with leases that has
// held its last.
func (v *Snapshot) HoldsNoMoreLease(r *Rules) bool {
	return r.Lease > 0 && (v.leaseVoid() || v.duties.lease.until != 0 && v.duties.lease.until <= CanonicalNow)
}

// canonical are the times of the beats that can still begin a lease.
func (s *SentTimes) canonical(m *Machine, r *Rules, l *lease, now time.Duration) (sent SentTimes) {
	if m.Role != memberstate.Leader || r.Lease == 0 || r.others() == 0 || m.leaseVoid() {
		return sent
	}
	for i, at := range s.beats {
		beat := m.Beat() - (m.Beat()-uint32(i))%recentBeats // that has this place
		if m.OfOffice(beat) && at > 0 && (l.until == 0 || beat > m.LeaseBeat()) {
			sent.beats[i] = CanonicalNow - min(now-at, r.Timing.Detection())
		}
	}
	return sent
}

// StillServing is the canonical snapshot of a member that is the same, but for the Lead of a
// term that it led before: that was told to end and has not returned. It is false if there is
// no such member.
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

// Ordered says of which kinds orders stand, as the session was told, as far as that matters.
func (s *Session) Ordered() (transfer, resign bool) {
	if s.duties == nil {
		return false, false
	}
	return s.duties.orders.transfers > 0, s.duties.orders.resignations > 0
}

// Renamed is the snapshot in a group in which every member has another seat.
func (v Snapshot) Renamed(name func(memberstate.Seat) memberstate.Seat) Snapshot {
	v.Machine = v.Machine.Renamed(name) // its duties know no member
	return v
}
