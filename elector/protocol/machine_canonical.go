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
	m.alarm, m.roundTrip = 1, 0
	if m.known <= m.Term {
		m.known = 0
	}
	if m.Role == memberstate.Candidate && !m.MayStand(r.Self) {
		m.Spent = true // for whatever reason
	}
	if m.judged != WaitToVoteNext || m.phase != idle || !m.MayStand(r.Self) { // stand asks only this, and only then
		m.judged = 0
	}
	m.ballot = 1
	if m.hurries > 0 { // to hurry is to wait, and not for long
		m.hurries = maxHurries
	}
	if m.phase == idle { // openRound sets these
		m.asked, m.mark, m.asking, m.repeated = 0, 0, 0, false
		m.accepted, m.answered, m.bigger = 0, 0, 0
		m.hasLeader, m.vetoed = false, false
	}
	if m.handover == NoHandover { // handOver sets these
		m.target, m.patience, m.reason = memberstate.Nobody, 0, 0
		if m.mark != rpc.Handed { // askVotes sets it, too
			m.goal = memberstate.Position{}
		}
	}
	if m.Role == memberstate.Leader {
		return m
	}
	if m.phase == idle {
		m.notReady = 0
	}
	// takeOffice sets these.
	m.acks = [recentBeats]memberstate.Set{}
	m.sticky, m.beat, m.heardBeat, m.leaseBeat, m.challenge, m.courtesy = 0, 0, 0, 0, 0, 0
	m.declined = 0
	m.resigning, m.leaseVoid, m.inconsistent, m.resent = false, false, false, false
	return m
}

// Steady is the machine without what only decides how soon, and in which of two terms, it
// asks again after a round.
func (m Machine) Steady() Machine {
	m.hurries, m.judged = 0, WaitToRevote
	return m
}

// Moods are all machines, as far as they behave differently, of which a steady one is that:
// with a round under way it may ask again without a wait, or has done so as often as it may;
// with none it may stand in its term once more, or goes on to a larger one.
func (m Machine) Moods() [2]Machine {
	other := m
	if m.phase == idle {
		other.judged = WaitToVoteNext
	} else {
		other.hurries = maxHurries
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

// Part is what another member is to this one: if it is the same for two of them, the
// machine is what it was when the two exchange their seats.
func (m *Machine) Part(seat memberstate.Seat) (part uint64) {
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
	return [...]*memberstate.Seat{&m.Vote, &m.Leader, &m.target}
}

func (m *Machine) sets() [9]*memberstate.Set {
	return [...]*memberstate.Set{
		&m.accepted, &m.notReady, &m.bigger, &m.answered, &m.sticky, &m.acks[0], &m.acks[1], &m.acks[2], &m.acks[3],
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
	if m.phase == idle {
		return 0, 0, 0
	}
	return m.ballot, m.asked, m.mark
}

// Beat is the number of the newest beat.
func (m *Machine) Beat() uint32 { return m.beat }
