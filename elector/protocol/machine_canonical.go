// Canonical machines: what a search needs that must take machines for the same if they behave
// alike, and must tell them apart otherwise.
//
// The state of a machine is nested into what begins and ends together, so what is over is forgotten by an
// assignment: a round, a handover, an office. This file is longer than these few lines, because
// more makes machines alike, and each of these reductions saves a search a factor: numbers that only ever
// grow, causes and back-offs that have the same effect, how soon a candidate asks again, and who is who, for
// which members change their seats.

package protocol

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Canonical removes what does not affect behaviour: the number of the alarm, which becomes 1,
// measured times, and fields that are not read before they are set anew. These are the answers to
// a round that is over, a handover that is not under way, and the counts of an office that has
// ended.
//
// Of the reasons why a member is not able to lead, one stands for all that are treated alike. The back-off
// of handovers is kept where it can count: at a leader with preferred members, or at one that is not able.
//
// It renumbers rounds, too: the newest one becomes round 1, and any other number means an older
// one. The beats of an office count from 1. A caller that keeps messages must renumber them in the
// same way.
func (m Machine) Canonical(r *Rules) Machine {
	m.alarm, m.ballot, m.roundTrip, m.expected, m.hurried = 1, 1, 0, 0, 0
	if m.known <= m.Term {
		m.known = 0
	}
	if m.Role == memberstate.Candidate && !m.MayStand(r.Self) {
		m.Spent = true // whatever the reason is
	}
	over := m.round.phase == idle
	if over {
		m.round = round{judged: m.round.judged, instantRevotes: m.round.instantRevotes}
	}
	if m.round.judged != WaitToVoteNext || !over || !m.MayStand(r.Self) { // only stand reads it, and only then
		m.round.judged = 0
	}
	if m.round.instantRevotes > 0 { // to ask again at once is like a very short wait
		m.round.instantRevotes = maxInstantRevotes
	}
	if goal := m.handover.Goal; m.handover.Phase == NoHandover {
		if m.handover = (Handover{}); m.round.mark == rpc.Handed { // it is the heir
			m.handover.Goal = goal
		}
	}
	m.inability = m.inability.alike()
	switch o := &m.office; {
	case m.Role != memberstate.Leader:
		m.office = office{declined: m.offersDeclined()}
		if over {
			m.notReady = 0
		}
	case m.inability == Able && r.Preferred == 0:
		o.declined, o.nextOffer = 0, 0 // it offers nothing, and begins anew when it is not able
	case int32(o.beat-o.nextOffer) >= 0:
		o.nextOffer = o.beat // since when does not matter
	}
	return m
}

// alike is the reason that stands for all that the machine treats alike.
func (i Inability) alike() Inability {
	switch {
	case i.hangs():
		return NotAbleDisk
	case !i.works():
		return NotAbleUnhealthy
	}
	return i
}

// WithoutAbility removes who is able to lead, this member included, and when this member may next
// hand over of its own accord.
func (m Machine) WithoutAbility() Machine { return m.WithAbility(Able, 0, false) }

// WithAbility is the machine of a member that is not able to lead for this reason, with these other
// members that are not able, as far as it knows. Due says whether it may hand over of its own accord
// now; otherwise it may not for long.
func (m Machine) WithAbility(why Inability, unable memberstate.Set, due bool) Machine {
	m.inability, m.unable = why, unable
	if m.office.declined, m.office.nextOffer = 0, m.office.beat; !due {
		m.office.nextOffer += uint32(maxLeak) << maxDeclined
	}
	if m.Role != memberstate.Leader {
		m.office.nextOffer = 0
	}
	return m
}

// WithoutRetries removes what only decides how soon after a round the machine asks again, and in
// which of two terms; and how often it has repeated to a target that is behind what it has said before.
func (m Machine) WithoutRetries() Machine {
	m.round.instantRevotes, m.round.judged, m.handover.repeats = 0, WaitToRevote, 0
	return m
}

// RetryVariants are all the different behaviours of a machine that WithoutRetries has returned.
// With a round under way it may ask again without a wait, or has done so as often as it may. With
// none it may stand in its term once more, or goes on to a larger one.
func (m Machine) RetryVariants() [2]Machine {
	other := m
	if m.round.phase == idle {
		other.round.judged = WaitToVoteNext
	} else {
		other.round.instantRevotes = maxInstantRevotes
	}
	return [...]Machine{m, other}
}

// Renamed is the machine with every member in another seat.
func (m Machine) Renamed(name func(memberstate.Seat) memberstate.Seat) Machine {
	for _, one := range m.members() {
		*one = name(*one)
	}
	for _, some := range m.sets() {
		*some = renamed(*some, name)
	}
	return m
}

func renamed(some memberstate.Set, name func(memberstate.Seat) memberstate.Seat) (others memberstate.Set) {
	for seat := range some.Seats() {
		others = others.With(name(seat))
	}
	return others
}

// SeatSignature says what another member is to this machine. If two members have the same
// signature, exchanging their seats leaves the machine as it is.
func (m *Machine) SeatSignature(seat memberstate.Seat) (part uint64) {
	for _, one := range m.members() {
		part <<= 1
		if *one == seat {
			part |= 1
		}
	}
	for _, some := range m.sets() {
		part <<= 1
		if some.Has(seat) {
			part |= 1
		}
	}
	return part
}

func (m *Machine) members() [3]*memberstate.Seat {
	return [...]*memberstate.Seat{&m.Vote, &m.Leader, &m.handover.Target}
}

func (m *Machine) sets() [10]*memberstate.Set {
	return [...]*memberstate.Set{
		&m.round.accepted, &m.notReady, &m.unable, &m.round.bigger, &m.round.answered, &m.office.sticky, &m.office.acks[0], &m.office.acks[1], &m.office.acks[2], &m.office.acks[3],
	}
}

// Renamed is the message with every member in another seat.
func (m Message) Renamed(name func(memberstate.Seat) memberstate.Seat) Message {
	m.From, m.Leader = name(m.From), name(m.Leader)
	if m.Unable != 0 { // in most there are none
		m.Unable = renamed(m.Unable, name)
	}
	return m
}

// Open returns the number of the round of votes under way, the term it asks for, and its mark; the
// number is 0 if there is none.
func (m *Machine) Open() (ballot uint32, asked memberstate.Term, mark rpc.Mark) {
	if m.round.phase == idle {
		return 0, 0, 0
	}
	return m.ballot, m.round.asked, m.round.mark
}

// Asking says whether a round of votes is under way, whether it is a pre-vote, and which voters
// have accepted so far.
func (m *Machine) Asking() (asks, preVote bool, accepted memberstate.Set) {
	return m.round.phase != idle, m.round.phase == preVoting, m.round.accepted
}

// leaseVoid says that this term will hold no lease any more.
func (m *Machine) leaseVoid() bool { return m.office.leaseVoid }

// stillServing is the same machine with a Lead of an earlier term that has not returned. It is
// false if no machine can be in that state.
func (m Machine) stillServing(r *Rules) (Machine, bool) {
	switch {
	case m.Role == memberstate.Leader:
		if m.Term < 2 {
			return m, false
		}
	case r.Self != m.Vote && m.Term < 2, m.serving, m.restartHold, m.Role == memberstate.Observer:
		return m, false // it cannot have led, or not since it started
	case m.round.phase == preVoting:
		return m, false // and it may not begin to ask
	}
	m.serving = true
	return m, true
}
