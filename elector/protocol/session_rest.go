// A leader that rests, as its session sees it: when it may, and how it goes on beating (D16).

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// idle says whether nothing is under way that a leader needs its own heartbeats for.
func (s *Session) idle(r *Rules, now time.Duration) bool {
	m, d := &s.Machine, s.duty()
	if m.round.phase != idle || m.handover.Phase != NoHandover || m.hurried != 0 || !m.OfOffice(m.office.heardBeat) {
		return false
	}
	if r.Preferred != 0 && !r.Preferred.Has(r.Self) && m.Alive()&r.Preferred != 0 {
		return false // it offers the office to a preferred member
	}
	if d.orders != (orders{}) || d.pause.running != 0 || d.lead.quits || d.lead.lost {
		return false
	}
	return r.Lease == 0 || !m.office.leaseVoid && !d.lease.over && d.lease.until > now
}

// answeredBy says whether all these voters have answered the newest heartbeat, with their promise if the
// leader has a lease. So no answer is on its way but late copies.
func (m *Machine) answeredBy(voters memberstate.Set, r *Rules) bool {
	acks := m.office.acks[m.office.beat%recentBeats]
	if r.Lease > 0 {
		acks &= m.office.sticky
	}
	return voters&^acks == 0
}

// goOnBeating brings a leader that has rested to where it would be if it had beaten all the time. A beat
// was sent at that time, and answered by these voters; after it some beats were sent that nobody has
// answered yet. It has a new number, because a late answer to an older heartbeat must not count for it.
func (s *Session) goOnBeating(r *Rules, answered memberstate.Set, at time.Duration, missed int) {
	o, sent := &s.office, &s.duty().sent
	for i := range missed + 1 {
		acks := memberstate.SetOf(r.Self)
		if i == 0 {
			acks |= answered
		}
		s.countBeat(acks)
		sent.beats[o.beat%recentBeats], sent.leases[o.beat%recentBeats] = at+time.Duration(i)*r.Timing.Heartbeat, r.Lease
		s.heardBy(r, o.beat)
	}
}
