// When a lease ends: the arithmetic of the leases that a process holds, without its locks and timers.
//
// A process holds a lease of each group's own, and one for all groups that leave their heartbeats to the node
// (shared_lease.go). The later of the two ends counts for such a group. How a Host keeps them is in internal/office; simulated
// processes keep them as plain values.

package protocol

import "time"

// Expiry is when a lease ends, by the clock of the process; zero once that was found to be past. It never becomes
// earlier, because somebody may have seen it.
type Expiry time.Duration

// Holds says whether the end is to come.
func (e Expiry) Holds(now time.Duration) bool { return now < time.Duration(e) }

// Extended is the later of the two, unless the lease has run out: somebody may have acted on that.
func (e Expiry) Extended(until, now time.Duration) Expiry {
	if !e.Holds(now) {
		return e
	}
	return max(e, Expiry(until))
}

// With is when a group's lease ends that shares another one: the later of the two counts. A group whose own lease was found
// to be over gets none by sharing one. It is also the own end that a group takes along when it shares no more.
func (e Expiry) With(shared Expiry) Expiry {
	if e == 0 {
		return 0
	}
	return max(e, shared)
}
