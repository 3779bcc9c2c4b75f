// Machines that behave alike, for those who look at all of them.

package elector

import "github.com/hustings/hustings/memberstate"

// Canonical is the machine without what tells apart two that behave alike: the number of
// its alarm, which becomes 1, and measured times; and what nothing looks at until it is
// set anew, that is, the answers to a round that is over, and the books of an office
// that has ended. An explorer has so many states less.
func (m Machine) Canonical() Machine {
	m.alarm, m.roundTrip = 1, 0
	if m.phase == idle { // openRound sets these
		m.asked, m.mark = 0, 0
		m.accepted, m.answered, m.bigger = 0, 0, 0
		m.hasLeader, m.vetoed = false, false
	}
	if m.Role == memberstate.Leader {
		return m
	}
	if m.phase == idle {
		m.notReady = 0
	}
	// takeOffice and handOver set these.
	m.acks = [recentBeats]memberstate.Set{}
	m.sticky, m.heardBeat, m.leaseBeat, m.challenge, m.courtesy = 0, 0, 0, 0, 0
	m.goal, m.patience, m.declined = memberstate.Position{}, 0, 0
	m.named, m.resigning, m.leaseVoid, m.inconsistent, m.resent = false, false, false, false, false
	return m
}
