// Leases, by each node's own clock.

package simulation

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// lease is what a leader holds until a true time.
type lease struct {
	term  memberstate.Term // 0: none
	until int64
	beat  uint32
}

// attendLease extends the lease when a quorum has confirmed it, as a Host does.
func (n *node) attendLease() {
	if n.machine.LeaseBeat() == 0 {
		n.dropLease()
		return
	}
	from, known := n.sent.LeaseFrom(&n.machine, &n.rules, time.Duration(n.world.now))
	if !known {
		return
	}
	t := n.rules.Timing
	until := int64(from) + n.elapsed(t.Detection()-t.DriftMargin)
	if n.lease.term == n.machine.Term && until <= n.lease.until {
		return
	}
	n.lease = lease{n.machine.Term, until, n.machine.LeaseBeat()}
	n.world.check.leased(n)
	n.world.events.Push(max(until, n.world.now), newEvent(leaseEnds, uint8(n.index), n.incarnation))
}

func (n *node) dropLease() { n.lease = lease{} }

func (n *node) leaseEnded(incarnation uint32) {
	if n.alive && n.incarnation == incarnation && !n.paused {
		n.lapseIfOver()
	}
}

// lapseIfOver tells the machine when its lease has run out.
func (n *node) lapseIfOver() {
	if n.lease.term != 0 && n.lease.until <= n.world.now {
		term := n.lease.term
		n.dropLease()
		if n.machine.Term == term {
			n.world.met(LeaseLapsed)
			n.engine.leading = 0
			n.give(&protocol.Input{Kind: protocol.Lapsed}, memberstate.Nobody)
			n.world.check.lapsed(n, term)
		}
	}
}
