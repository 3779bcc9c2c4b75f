// Machines that behave alike, for those who look at all of them.

package protocol

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Canonical is the machine without what tells apart two that behave alike: the number of
// its alarm, which becomes 1, and measured times; and what nothing looks at until it is
// set anew, that is, the answers to a round that is over, a handover that is not under
// way, the books of an office that has ended.
//
// Rounds are numbered anew, too: the newest one becomes round 1, and any other number is
// that of an older one. The beats of an office count from 1. Whoever keeps messages must
// do the same to them.
func (m Machine) Canonical(r *Rules) Machine {
	m.alarm, m.ballot, m.roundTrip = 1, 1, 0
	if m.known <= m.Term {
		m.known = 0
	}
	if m.Role == memberstate.Candidate && !m.MayStand(r.Self) {
		m.Spent = true // for whatever reason
	}
	over := m.round.phase == idle
	if over {
		m.round = round{judged: m.round.judged, instantRevotes: m.round.instantRevotes}
	}
	if m.round.judged != WaitToVoteNext || !over || !m.MayStand(r.Self) { // stand asks only this, and only then
		m.round.judged = 0
	}
	if m.round.instantRevotes > 0 { // to hurry is to wait, and not for long
		m.round.instantRevotes = maxInstantRevotes
	}
	if goal := m.handover.Goal; m.handover.Phase == NoHandover {
		if m.handover = (Handover{}); m.round.mark == rpc.Handed { // it is the heir
			m.handover.Goal = goal
		}
	}
	if m.Role != memberstate.Leader {
		m.office = office{}
		if over {
			m.notReady = 0
		}
	}
	return m
}

// WithoutRetries is the machine without what only decides how soon, and in which of two terms, it
// asks again after a round.
func (m Machine) WithoutRetries() Machine {
	m.round.instantRevotes, m.round.judged = 0, WaitToRevote
	return m
}

// RetryVariants are all machines, as far as they behave differently, of which a steady one is that:
// with a round under way it may ask again without a wait, or has done so as often as it may;
// with none it may stand in its term once more, or goes on to a larger one.
func (m Machine) RetryVariants() [2]Machine {
	other := m
	if m.round.phase == idle {
		other.round.judged = WaitToVoteNext
	} else {
		other.round.instantRevotes = maxInstantRevotes
	}
	return [...]Machine{m, other}
}

// Renamed is the machine in a group in which every member has another seat.
func (m Machine) Renamed(name func(memberstate.Seat) memberstate.Seat) Machine {
	for _, one := range m.members() {
		*one = name(*one)
	}
	for _, some := range m.sets() {
		var renamed memberstate.Set
		for seat := range some.Seats() {
			renamed = renamed.With(name(seat))
		}
		*some = renamed
	}
	return m
}

// SeatSignature is what another member is to this one: if it is the same for two of them, the
// machine is what it was when the two exchange their seats.
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

func (m *Machine) sets() [9]*memberstate.Set {
	return [...]*memberstate.Set{
		&m.round.accepted, &m.notReady, &m.round.bigger, &m.round.answered, &m.office.sticky, &m.office.acks[0], &m.office.acks[1], &m.office.acks[2], &m.office.acks[3],
	}
}

// Renamed is the message in such a group.
func (m Message) Renamed(name func(memberstate.Seat) memberstate.Seat) Message {
	m.From, m.Leader = name(m.From), name(m.Leader)
	return m
}

// Open is the number of the round of votes that is under way, the term that is asked for,
// and its mark; 0: there is none.
func (m *Machine) Open() (ballot uint32, asked memberstate.Term, mark rpc.Mark) {
	if m.round.phase == idle {
		return 0, 0, 0
	}
	return m.ballot, m.round.asked, m.round.mark
}

// Asking says whether a round of votes is under way, whether it is a pre-vote, and who
// has accepted so far.
func (m *Machine) Asking() (asks, preVote bool, accepted memberstate.Set) {
	return m.round.phase != idle, m.round.phase == preVoting, m.round.accepted
}

// leaseVoid says that this term will hold no lease any more.
func (m *Machine) leaseVoid() bool { return m.office.leaseVoid }

// stillServing is the machine of a member that is the same, but for a Lead of a term that
// it led before, which has not returned. It is false if there is no such member.
func (m Machine) stillServing(r *Rules) (Machine, bool) {
	switch {
	case m.Role == memberstate.Leader:
		if m.Term < 2 {
			return m, false
		}
	case r.Self != m.Vote && m.Term < 2, m.serving, m.restartHold, m.Role == memberstate.Observer:
		return m, false // it cannot have led, or not since it started
	case m.round.phase == preVoting:
		return m, false // nor may it begin to ask
	}
	m.serving = true
	return m, true
}
