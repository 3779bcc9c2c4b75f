// The protocol of one lease at one candidate: every decision, and nothing else. It
// has no clock, goroutine, lock or database. An Elector gives it these, and the
// simulator gives it others.

package lease

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Rules say whose machine it is, and by which rules it decides.
type Rules struct {
	// Name is the name of the lease, ID the candidate's identity in the database,
	// Self its readable name, by which it may be an heir.
	Name, ID, Self string
	// Observer and Strict are as in Config.
	Observer, Strict bool
	Timing           Timing
}

// Machine is what a candidate knows of a lease, and decides from it. It is told what
// has happened, and tells what comes next. Times are of the candidate's monotonic
// clock.
//
// Its user does what it is told, in this order: a claim's time is taken before it is
// sent (Claim), a renewal's too (Renew); what is not answered in time is told as
// Claimed(false) or Unanswered, and what comes later is not told.
type Machine struct {
	// Role, Term and Leader are what others see, as in elector.Status.
	Role   memberstate.Role
	Term   memberstate.Term
	Leader string

	rules    Rules
	phase    phase
	retiring bool
	seen     sighting
	patience time.Duration    // it claims nothing before
	left     memberstate.Term // the term that it left last
	asked    time.Duration    // when it last sent for the lease, or a renewal
	due      bool             // the lease is to be renewed
	renewing bool             // a renewal is under way
}

// Next is what a candidate does next.
type Next uint8

const (
	// Nothing: it goes on as before.
	Nothing Next = iota
	// MakeClaim: send the Claim, and tell what came of it with Claimed.
	MakeClaim
	// TakeOffice: hold the lease until Until, and call Lead.
	TakeOffice
	// ExtendLease: hold it until Until, if it has not run out.
	ExtendLease
	// LeaveOffice: the lease is over, and so is Lead's context. When Lead returns,
	// that is told with Returned.
	LeaveOffice
	// GiveBack: release what is Held, and try again until Until. After Returned it is told
	// with Released when that is over, whether it has worked or not.
	GiveBack
	// Distrust: what was read is older than what is known. The lease is left alone.
	Distrust
)

// phase is what a machine is busy with.
type phase uint8

const (
	// idle: it has not been started, or takes no part any more.
	idle phase = iota
	// watching: it looks at the lease from time to time.
	watching
	// claims: a claim is under way.
	claims
	// serving: it is in office.
	serving
	// leaving: Lead has not returned, or the lease has not been released.
	leaving
)

// NewMachine is one that has not begun.
func NewMachine(r Rules) Machine {
	m := Machine{rules: r}
	m.Role = m.standing()
	return m
}

// standing is the role without a leader.
func (m *Machine) standing() memberstate.Role {
	if m.rules.Observer {
		return memberstate.Observer
	}
	return memberstate.Candidate
}

// Begin has it take part, once. It is false if it cannot.
func (m *Machine) Begin() bool {
	if m.phase != idle || m.retiring {
		return false
	}
	m.phase = watching
	return true
}

// Idle says that it takes no part.
func (m *Machine) Idle() bool { return m.phase == idle }

// Watching says that the lease is to be looked at.
func (m *Machine) Watching() bool { return m.phase == watching }

// Serving says that the lease is held, and to be renewed.
func (m *Machine) Serving() bool { return m.phase == serving }

// InOffice says that it serves, or that Lead has not returned, or that the lease has
// not been released.
func (m *Machine) InOffice() bool { return m.phase == serving || m.phase == leaving }

// Look takes note of what was read. The time must be taken after the answer came.
func (m *Machine) Look(r Record, now time.Duration) Next {
	switch {
	case m.phase != watching:
		return Nothing
	case r.Term < m.Term:
		return Distrust
	}
	m.seen.see(r, now)
	m.Role, m.Term, m.Leader = m.standing(), r.Term, ""
	if r.Holder != m.rules.ID && m.led(now) {
		m.Leader = r.Holder
		if m.Role == memberstate.Candidate {
			m.Role = memberstate.Follower
		}
	}
	free := m.free(now)
	if m.leftBehind() && !free {
		m.standBack(now) // the others have to wait, too
	}
	if m.rules.Observer || now < m.patience || !free {
		return Nothing
	}
	m.phase = claims
	return MakeClaim
}

// Claim is the claim to be sent now, unless it has come to retire before.
func (m *Machine) Claim(now time.Duration) (c Claim, ok bool) {
	if m.retiring {
		m.rest()
		return Claim{}, false
	}
	m.asked = now
	return Claim{
		Name: m.rules.Name, Holder: m.rules.ID, TTL: m.rules.Timing.TTL,
		Term: m.seen.Term, Renewals: m.seen.Renewals, Watched: m.rules.Strict,
	}, true
}

// Claimed says whether the claim is known to have won. If there was no answer it may
// have; then the next look finds this candidate to be the holder, and the lease is
// claimed again.
func (m *Machine) Claimed(won bool, now time.Duration) Next {
	m.rest()
	switch {
	case !won:
	case m.retiring:
		m.Term++
		return GiveBack
	case now < m.Until():
		m.phase, m.Role, m.Leader = serving, memberstate.Leader, m.rules.ID
		m.due, m.renewing = false, false
		m.Term++
		return TakeOffice
	}
	return Nothing
}

// rest has it look again, unless it retires.
func (m *Machine) rest() {
	m.phase = watching
	if m.retiring {
		m.phase = idle
	}
}

// Until is how long the lease may be used that was last asked for: counted from
// before the question was sent, whenever the answer comes.
func (m *Machine) Until() time.Duration { return m.asked + m.rules.Timing.validity() }

// Held is the lease in its last term.
func (m *Machine) Held() Held { return Held{m.rules.Name, m.Term} }

// Renew is the renewal to be sent now, if it serves, and one is due: everything is from
// time to time, and what was not answered is until it has been. A lease has one renewal
// under way at a time, because Until counts from when the last was sent: an answer to one
// before must not extend the lease from then.
func (m *Machine) Renew(everything bool, now time.Duration) (held Held, ok bool) {
	if m.phase != serving {
		return Held{}, false
	}
	m.due = m.due || everything
	if !m.due || m.renewing {
		return Held{}, false
	}
	m.due, m.renewing, m.asked = false, true, now
	return m.Held(), true
}

// Unanswered says that the renewal of a term was not answered, so that it is not known
// what came of it.
func (m *Machine) Unanswered(term memberstate.Term) {
	if m.phase == serving && term == m.Term {
		m.due, m.renewing = true, false
	}
}

// Renewed says what the last renewal has come to. The lease of a term that was not
// kept is lost, now.
func (m *Machine) Renewed(term memberstate.Term, kept bool) Next {
	switch {
	case !kept:
		return m.Leave(term)
	case m.phase != serving || term != m.Term:
		return Nothing
	}
	m.renewing = false
	return ExtendLease
}

// Leave has it leave the office of a term, if it is in it: the lease has run out or
// is lost, or it resigns.
func (m *Machine) Leave(term memberstate.Term) Next {
	if m.phase != serving || term != m.Term {
		return Nothing
	}
	m.phase, m.Role, m.Leader = leaving, memberstate.Candidate, ""
	return LeaveOffice
}

// Returned says that Lead has. An office that was not left before is left by that.
func (m *Machine) Returned() Next {
	m.Leave(m.Term)
	return GiveBack
}

// Released says that the lease was released, or could not be. The candidate stands back for
// a while, so that another one gets it. If it could not be released that while begins when
// it has run out.
func (m *Machine) Released(now time.Duration) {
	m.rest()
	m.standBack(now)
	m.seen, m.left = sighting{}, m.Term
}

// standBack has it claim nothing for as long as it takes others to look.
func (m *Machine) standBack(now time.Duration) { m.patience = now + 2*m.rules.Timing.Poll }

// Retire has it claim nothing any more, and leave its office.
func (m *Machine) Retire() Next {
	m.retiring = true
	if m.phase == watching {
		m.phase = idle
	}
	return m.Leave(m.Term)
}
