// Time, where there are leases. It passes in ticks, and a lease lasts a few of them. Clocks may miss some, and
// an alarm that keeps a promise does not ring before its time. The session decides how long a lease lasts, by
// its node's time. In canonical form all nodes have the same time, and all other times are relative to it.

package explore

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// A promise lasts this many ticks of its giver's clock. A lease is shorter by the margin, by its
// holder's clock.
const (
	tick         = time.Millisecond
	promiseTicks = 3
	marginTicks  = 1
	leaseTicks   = promiseTicks - marginTicks
)

// clocks are a node's times, as far as they matter.
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

// leasesLeft is how many more ticks each node holds a lease.
func leasesLeft(nodes []node) (left []int) {
	for i := range nodes {
		left = append(left, nodes[i].leaseLeft())
	}
	return left
}

// setAlarmWait notes the earliest time of the alarm, if it matters: a follower keeps its promise that long, and a
// member that has just started keeps one that it has forgotten. All other alarms may ring at any time.
func (n *node) setAlarmWait(least time.Duration, role memberstate.Role, starts bool) {
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
	if other.lapsed() { // the session's driver ends Lead
		other.driver.ended = other.driver.runs
	}
	return other
}

// tick is a state after a tick that the clocks in missing have missed; false if one of them has missed as
// many as it may.
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

// tickOf is a node after a tick, which its clock misses if misses is 1.
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

// ticks explores what time does to a state.
func (x *worker) ticks(at int32, from *state, depth uint16) {
	for missing := range 1 << x.options.Members {
		if next, ok := x.model.tick(from, missing); ok {
			x.transitions++
			x.discover(&next, origin{at, theClock}, depth)
		}
	}
}

// theClock stands for a node in the origin of a state that time has led to.
const theClock = mostMembers

// The violations.
var (
	twoLeases = defect{invariant.OneLease, "two members hold a lease at once"}
	baseless  = defect{invariant.OneLease, "a lease lasts longer than the promises that support it"}
)

// leaseDefect checks the longest leases that members can have after silent steps.
func (x *worker) leaseDefect(s *state) defect {
	var nodes [mostMembers]node
	var left [mostMembers]int
	for i := range x.options.Members {
		nodes[i], left[i] = x.model.nodes[s.nodes[i]], x.expansionOf(i).lease
	}
	return leaseDefect(nodes[:x.options.Members], left[:])
}

// leaseDefect says what is wrong if nodes hold leases for that many ticks: two hold one at once, or one holds
// a lease for longer than a quorum stands by it. The second would become the first with the right candidate.
// To a clock that has missed ticks, a lease seems to last longer than it does, by no more than these ticks.
func leaseDefect(nodes []node, left []int) defect {
	holders := 0
	wrong := defect{}
	for i := range nodes {
		if left[i] == 0 {
			continue
		}
		stand := 1 // the node itself
		for j := range nodes {
			if j != i && int(nodes[j].time.wait)+int(nodes[i].time.lag) >= left[i]+marginTicks {
				stand++
			}
		}
		if !check.Elected(stand, len(nodes)) {
			wrong = baseless
		}
		if holders++; holders > 1 {
			return twoLeases
		}
	}
	return wrong
}
