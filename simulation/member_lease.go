// The leases of a process, its own of each group and those that groups share, as a host keeps them: see package
// internal/office. When they end is a protocol.Expiry, there and here.

package simulation

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// held is what a member holds.
type held struct {
	own    protocol.Expiry // by the clock of its node
	shares uint32          // the lease that it shares, too; 0: none
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
	had := m.leaseEnd()
	if m.Lease.Term != 0 && until < time.Duration(had) {
		m.world.check.Violated(invariant.OneLease, &m.Member, "its lease in term %d is taken back to %v from %v", m.Lease.Term, until, time.Duration(had))
	}
	if m.held = (held{own: protocol.Expiry(until)}); had != 0 {
		m.held.own = had.Extended(until, m.local())
	}
	m.lasts(had, until)
}

// leaseEnd is when the member's lease ends; 0: it has none.
func (m *member) leaseEnd() protocol.Expiry { return m.held.own.With(m.leases[m.held.shares]) }

// Share has the member's lease last as long as the one of this number, too.
func (m *member) Share(number uint32) {
	if m.Alive {
		had := m.leaseEnd()
		m.held.shares = number
		m.lasts(had, time.Duration(m.leaseEnd()))
	}
}

// HoldShared begins, extends or ends a lease that groups share.
func (n *node) HoldShared(number uint32, until time.Duration) {
	if !n.Alive {
		return
	}
	if n.leases == nil {
		n.leases = make(map[uint32]protocol.Expiry)
	}
	had := n.leases[number]
	switch {
	case until == 0:
		delete(n.leases, number)
	case had == 0:
		n.leases[number] = protocol.Expiry(until)
	default:
		n.leases[number] = had.Extended(until, n.local())
	}
	for place := range n.members {
		m := &n.members[place]
		switch {
		case m.held.shares != number:
		case until == 0:
			n.world.check.Violated(invariant.OneLease, &m.Member, "the lease that it shares ends, and it was not told")
		case until > time.Duration(m.held.own.With(had)):
			m.lasts(m.held.own.With(had), until)
		}
	}
}

// lasts checks a lease that is to last until a time, and notes when it ends. A lease that has run out must not be extended,
// because the engine may have acted on its end.
func (m *member) lasts(had protocol.Expiry, until time.Duration) {
	if m.Lease.Term != 0 && !had.Holds(m.local()) && until > time.Duration(had) {
		m.world.check.Violated(invariant.OneLease, &m.Member, "its lease in term %d is extended after it has run out", m.Lease.Term)
	}
	term := m.group.State().Term
	more := m.Lease.Term != term || until > time.Duration(had) // otherwise it was checked before, perhaps by other rules
	end := time.Duration(m.leaseEnd())
	if m.Lease = (check.Lease{Term: term, Until: m.clock.When(end)}); more {
		m.world.check.Leased(&m.Member, end, m.local())
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
