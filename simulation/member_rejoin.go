// A group that is stopped in good order and joins its node again, set up in another way, while
// the process and its other groups go on.

package simulation

import (
	"time"

	"github.com/hustings/hustings/simulation/invariant"
)

// leave has the group stopped, unless it has ended by itself. It joins again so much later
// than it is over.
func (m *member) leave(away time.Duration) {
	if m.Shown.Stopped {
		return
	}
	m.away = max(away, 1)
	m.intake.Stop(&m.group)
	if !m.Paused {
		m.turn()
	}
}

// left is when nothing works for the group any more.
func (m *member) left() {
	e, w := &m.engine, m.world
	if e.Running != 0 {
		w.check.Violated(invariant.OneOffice, &m.Member, "its group is over, and its engine still serves term %d", e.Running)
	}
	m.intake.Over(&m.group)
	// What was heard and is not in the ledger is not accepted any more.
	e.writing, e.announced = [mostWrites]addition{}, 0
	if w.calm {
		m.away = 1
	}
	w.about(int64(m.away), groupRejoins, m, m.Incarnation)
}

// rejoin has the group take part again. It may have come back with its process meanwhile.
func (m *member) rejoin() {
	if m.away > 0 && m.intake.Group(m.group.Name()) == nil {
		m.join()
		m.workOff()
	}
}

// switchLease sets the group up with leases if it was without, or without them.
func (m *member) switchLease() {
	if r := m.rules(); r.Lease > 0 {
		r.Lease = 0
	} else {
		r.Lease = r.Timing.Detection()
	}
}
