// A leader that rests, as its session sees it: when it may, and how it goes on beating (D16).

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// idle says whether nothing is under way that a leader needs its own heartbeats for, and whether its lease, which lasts
// until a time, is not over.
func (s *Session) idle(r *Rules, now, lease time.Duration) bool {
	m, d := &s.Machine, s.duty()
	if m.round.phase != idle || m.handover.Phase != NoHandover || m.hurried != 0 {
		return false
	}
	if r.mayOffer() && m.Alive()&r.Preferred&^r.lastChoice() != 0 {
		return false // it offers the office to a preferred member
	}
	if d.orders != (orders{}) || d.pause.running != 0 || d.lead.quits || d.lead.lost {
		return false
	}
	return r.Lease == 0 || !m.office.leaseVoid && !d.lease.over && lease > now
}

// settle drops what does not count any more when the group begins to leave its beats to nodes: a round of votes that is
// over, who answered which heartbeat, and when they were sent. The bonds of an office are the cohort's now.
func (s *Session) settle(r *Rules) {
	m := &s.Machine
	if m.round.phase == idle {
		m.round = round{instantRevotes: m.round.instantRevotes}
	}
	m.hurried, m.notReady = 0, 0
	if m.known <= m.Term {
		m.known = 0
	}
	if m.handover.Phase == NoHandover {
		m.handover = Handover{}
	}
	if m.Role != memberstate.Leader {
		m.office = office{beat: m.office.beat, declined: m.offersDeclined()}
		return
	}
	m.office = m.office.resting(r)
	d := s.duties
	d.sent, *d.offers = SentTimes{}, officeBonds{term: d.offers.term, made: d.offers.made}
	if d.pause.running == 0 && !d.pause.asked {
		d.pause = pause{}
	}
}

// resting is the office while its leader rests. Nobody else's answers count meanwhile, and what it does of its own
// accord it may do at once when it wakes, unless it has tried lately.
func (o *office) resting(r *Rules) office {
	rests := office{
		beat: o.beat, heardBeat: o.beat, challenge: o.beat - uint32(r.Timing.Leak), nextOffer: o.beat,
		sticky: memberstate.SetOf(r.Self),
	}
	if r.Lease > 0 {
		rests.leaseBeat = o.beat
	}
	if o.beat-o.challenge < uint32(r.Timing.Leak) {
		rests.challenge = o.challenge
	}
	if r.Preferred != 0 && !r.Preferred.Has(r.Self) {
		rests.declined = o.declined
		if int32(o.beat-o.nextOffer) < 0 {
			rests.nextOffer = o.nextOffer
		}
	}
	return rests
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

// goOnBeating brings a leader that has rested on these followers to where it would be if it had beaten all the time:
// they have answered its newest heartbeat. A beat was sent at that time, and answered by these voters; after it some beats were sent that nobody has
// answered yet. It has a new number, because a late answer to an older heartbeat must not count for it.
func (s *Session) goOnBeating(r *Rules, seats, answered memberstate.Set, at time.Duration, missed int) {
	o, sent := &s.office, &s.duty().sent
	all := seats&r.Voters | memberstate.SetOf(r.Self)
	if o.acks[o.beat%recentBeats] = all; r.Lease > 0 {
		o.sticky = all
	}
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
