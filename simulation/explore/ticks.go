// Time, where there are leases. It passes in ticks, of which a lease lasts a few. Clocks may miss some, and an alarm
// that keeps a promise does not ring before its time. How long a lease lasts the session decides: it is
// handed the time of its node. In a canonical form every node has the same time, from which all others are counted.

package explore

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// A promise lasts this many ticks of its giver's clock. A lease is shorter by the margin, by the clock of
// its holder.
const (
	tick         = time.Millisecond
	promiseTicks = 3
	marginTicks  = 1
	leaseTicks   = promiseTicks - marginTicks
)

// clocks are a node's, as far as they matter.
type clocks struct {
	now  time.Duration // by its own clock, and in a canonical form always the same
	wait uint8         // ticks before its alarm may ring, if that keeps a promise
	lag  uint8         // ticks that its clock has missed
}

// withLeases changes the rules to those of a group with leases.
func withLeases(r *protocol.Rules) {
	r.Timing.Heartbeat = promiseTicks * tick / time.Duration(r.Timing.Leak)
	r.Timing.DriftMargin = marginTicks * tick
	r.Lease = promiseTicks * tick
}

// leaseholders has a bit for every node that holds a lease.
func leaseholders(nodes []node) (holders int) {
	for i := range nodes {
		if nodes[i].holdsLease() {
			holders |= 1 << i
		}
	}
	return holders
}

// leasesLeft are how many ticks every node holds a lease on.
func leasesLeft(nodes []node) (left []int) {
	for i := range nodes {
		left = append(left, nodes[i].leaseLeft())
	}
	return left
}

// waits notes when the alarm may ring at the earliest, if that matters: a follower keeps its promise
// that long, and a member that has just started keeps one that it has forgotten. All other alarms may ring
// at any time.
func (n *node) waits(least time.Duration, role memberstate.Role, starts bool) {
	n.time.wait = 0
	if role == memberstate.Follower || starts && n.session.Promise > 0 {
		n.time.wait = uint8(least / tick)
	}
}

// ticked is a node after a tick, which its clock may miss.
func (n *node) ticked(misses bool) node {
	other := *n
	if misses {
		other.time.lag++
		return other
	}
	other.time.now += tick
	if other.time.wait > 0 {
		other.time.wait--
	}
	if other.lapsed() { // the session's driver sees to that
		other.driver.ended = other.driver.runs
	}
	return other
}

// tick is a state after a tick that the clocks of some have missed; false if one of those
// has missed as many as it may.
func (m *model) tick(s *state, missing int) (state, bool) {
	next := *s
	for i := range m.bounds.Members {
		misses := missing >> i & 1
		if misses == 1 && int(m.nodes[s.nodes[i]].time.lag) == m.bounds.Lag {
			return next, false
		}
		next.nodes[i] = m.tickOf(s.nodes[i], misses)
	}
	return next, true
}

// tickOf is a node after a tick, of which its clock misses none or one.
func (m *model) tickOf(id nodeID, misses int) nodeID {
	known := &m.ticked[misses]
	if int(id) >= len(*known) {
		*known = append(*known, make([]nodeID, len(m.nodes)-len(*known)+1024)...)
	}
	if (*known)[id] == 0 {
		after := m.nodes[id].ticked(misses == 1)
		(*known)[id] = m.intern(&after)
	}
	return (*known)[id]
}

// ticks looks at what time does to a state.
func (x *worker) ticks(at int32, from *state, depth uint16) {
	for missing := range 1 << x.options.Members {
		if next, ok := x.model.tick(from, missing); ok {
			x.transitions++
			x.enter(&next, origin{at, theClock}, depth)
		}
	}
}

// theClock stands for a node in the origin of a state to which time has led.
const theClock = mostMembers

// What must not happen.
var (
	twoLeases = defect{invariant.OneLease, "two members hold a lease at once"}
	baseless  = defect{invariant.OneLease, "a lease lasts longer than the promises that it rests on"}
)

// wrongLeases says what is wrong with the leases that members can have after silent steps.
func (x *worker) wrongLeases(s *state) defect {
	var nodes [mostMembers]node
	var left [mostMembers]int
	for i := range x.options.Members {
		nodes[i], left[i] = x.model.nodes[s.nodes[i]], x.can(i).lease
	}
	return wrongLeases(nodes[:x.options.Members], left[:])
}

// wrongLeases says what is wrong if nodes hold leases for so many ticks: two do at once, or
// one does for longer than a quorum stands by it, which would be two with the right candidate.
// A clock that has missed ticks takes a lease to last longer than it does, by no more of them.
func wrongLeases(nodes []node, left []int) defect {
	holders, quorum := 0, len(nodes)/2+1
	wrong := defect{}
	for i := range nodes {
		if left[i] == 0 {
			continue
		}
		stand := 1 // by itself
		for j := range nodes {
			if j != i && int(nodes[j].time.wait)+int(nodes[i].time.lag) >= left[i]+marginTicks {
				stand++
			}
		}
		if stand < quorum {
			wrong = baseless
		}
		if holders++; holders > 1 {
			return twoLeases
		}
	}
	return wrong
}
