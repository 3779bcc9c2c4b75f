// The leases of a process, its own of each group and those that groups share, as a host keeps them: see package
// internal/office. What a group holds is the later of the two.

package simulation

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// held is what a member holds.
type held struct {
	until  time.Duration // by the clock of its node
	shares uint32        // the lease that it shares, too; 0: none
}

// dropLease ends the member's lease.
func (m *member) dropLease() { m.Lease, m.held = check.Lease{}, held{} }

// Hold begins a lease of the member's own, extends it, or ends it.
func (m *member) Hold(until time.Duration) {
	if !m.Alive {
		return
	}
	if until == 0 {
		m.dropLease()
		return
	}
	if m.held.shares = 0; m.Lease.Term != 0 && until < m.held.until {
		m.world.check.Violated(invariant.OneLease, &m.Member, "its lease in term %d is taken back to %v from %v", m.Lease.Term, until, m.held.until)
	}
	m.extends(until)
}

// Share has the member's lease last as long as the one of this number, too.
func (m *member) Share(number uint32) {
	if m.Alive {
		m.held.shares = number
		m.extends(max(m.held.until, m.leases[number]))
	}
}

// HoldShared begins, extends or ends a lease that groups share.
func (n *node) HoldShared(number uint32, until time.Duration) {
	if !n.Alive {
		return
	}
	if n.leases == nil {
		n.leases = make(map[uint32]time.Duration)
	}
	if n.leases[number] = until; until == 0 {
		delete(n.leases, number)
	}
	for place := range n.members {
		m := &n.members[place]
		switch {
		case m.held.shares != number:
		case until == 0:
			n.world.check.Violated(invariant.OneLease, &m.Member, "the lease that it shares ends, and it was not told")
		case until > m.held.until:
			m.extends(until)
		}
	}
}

// extends has the member's lease last until a time. A lease that has run out must not be extended, because the engine may
// have acted on its end.
func (m *member) extends(until time.Duration) {
	if m.Lease.Term != 0 && m.held.until <= m.local() && until > m.held.until {
		m.world.check.Violated(invariant.OneLease, &m.Member, "its lease in term %d is extended after it has run out", m.Lease.Term)
	}
	term := m.group.State().Term
	more := m.Lease.Term != term || until > m.held.until // otherwise it was checked before, perhaps by other rules
	if m.held.until, m.Lease = until, (check.Lease{Term: term, Until: m.clock.When(until)}); more {
		m.world.check.Leased(&m.Member, until, m.local())
	}
	m.world.about(max(m.Lease.Until, m.world.now)-m.world.now, leaseEnds, m, m.Incarnation)
}

func (m *member) leaseEnded(incarnation uint32) {
	if m.Alive && m.Incarnation == incarnation && !m.Paused && m.leaseIsOver() {
		m.host.At(m.local())
		m.lapseIfOver()
		m.endTurn()
	}
}

func (m *member) leaseIsOver() bool { return m.Lease.Term != 0 && m.Lease.Until <= m.world.now }

// lapseIfOver tells the group when its lease has run out. If it shares one, all that share it are told at once.
func (m *member) lapseIfOver() {
	if !m.leaseIsOver() {
		return
	}
	number := m.held.shares
	if number == 0 {
		term := m.lapses()
		m.host.LeaseOver(&m.group, term)
		m.world.check.Lapsed(&m.Member, term)
		return
	}
	var over []func()
	for place := range m.members {
		if one := &m.members[place]; one.held.shares == number && one.leaseIsOver() {
			term := one.lapses()
			over = append(over, func() { m.world.check.Lapsed(&one.Member, term) })
		}
	}
	m.host.SharedLeaseOver(number)
	for _, lapsed := range over {
		lapsed()
	}
}

// lapses ends what the member does under its lease, and returns its term.
func (m *member) lapses() (term memberstate.Term) {
	term = m.Lease.Term
	m.world.check.RunsOut(&m.Member)
	m.dropLease()
	m.engine.Leading = 0
	m.world.met(LeaseLapsed)
	return term
}
