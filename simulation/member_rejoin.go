// A group that is stopped in good order and joins its node again, set up in another way, while
// the process and its other groups go on.

package simulation

import (
	"time"

	"github.com/hustings/hustings/simulation/invariant"
)

// leave stops the group, unless it has ended by itself. It joins again after it has been away for
// this long.
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

// left is called when the group has stopped and nothing works for it any more.
func (m *member) left() {
	e, w := &m.engine, m.world
	if e.Running != 0 {
		w.check.Violated(invariant.OneOffice, &m.Member, "its engine still serves term %d after its group has ended", e.Running)
	}
	m.over()
	// Appends that were heard and are not in the ledger are not accepted any more.
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
		m.drain()
	}
}

// switchLease turns leases on if they are off, and off if they are on.
func (m *member) switchLease() {
	if r := &m.electorate.Rules; r.Lease > 0 {
		r.Lease = 0
	} else {
		r.Lease = r.Timing.Detection()
	}
}

// over has the process forget the group, as a host does.
func (m *member) over() {
	m.intake.Over(&m.group)
	m.shared.Leave(m.group.Electorate)
}
