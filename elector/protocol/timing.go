// Timing: the intervals of an election.

package protocol

import (
	"errors"
	"time"
)

// Timing holds the intervals of a group. All members should have the same.
type Timing struct {
	// Heartbeat is how often a leader is heard.
	Heartbeat time.Duration
	// Leak is how many heartbeats may be missed: a leader unheard for
	// Leak * Heartbeat is taken for dead, and a leader steps down when no
	// quorum has answered its last Leak heartbeats. It is 2 or more.
	Leak int
	// MinVoteWait and MaxVoteWait bound the random wait between two attempts of a candidate.
	MinVoteWait, MaxVoteWait time.Duration
	// RoundTimeout is how long a candidate waits for the answers to one round. It is stretched
	// where round trips turn out to be longer.
	RoundTimeout time.Duration
	// DriftMargin is how much shorter a lease is at its holder than at the voters that promised
	// it, so that clocks of different rates cannot make two holders. The rest of
	// Leak * Heartbeat is the length of a lease. It must be more than a Heartbeat and the round
	// trip in which it is answered, or no lease is ever renewed. It is used with leases only.
	DriftMargin time.Duration
}

// DefaultTiming is for members in one data centre: a silent leader is replaced
// in about a third of a second.
func DefaultTiming() Timing {
	return Timing{
		Heartbeat:    100 * time.Millisecond,
		Leak:         3,
		MinVoteWait:  30 * time.Millisecond,
		MaxVoteWait:  100 * time.Millisecond,
		RoundTimeout: 100 * time.Millisecond,
		DriftMargin:  15 * time.Millisecond,
	}
}

// DLedgerTiming has the intervals that DLedger comes with.
func DLedgerTiming() Timing {
	return Timing{
		Heartbeat:    2 * time.Second,
		Leak:         3,
		MinVoteWait:  300 * time.Millisecond,
		MaxVoteWait:  1000 * time.Millisecond,
		RoundTimeout: 3 * time.Second,
		DriftMargin:  300 * time.Millisecond,
	}
}

// Detection is how long a leader may be silent before it is taken for dead.
func (t Timing) Detection() time.Duration { return time.Duration(t.Leak) * t.Heartbeat }

// shortest is the lower bound of every interval at which messages are sent. More messages cost more
// than they help, and a candidate that is cut off would send without a pause.
const shortest = time.Millisecond

// maxDetection is the upper bound of every interval. It keeps sums and multiples of them far from overflow.
const maxDetection = 24 * time.Hour

// Validate says what is wrong with the intervals, for members with leases or without.
// The error wraps a *ConfigError for every field that is.
func (t Timing) Validate(leases bool) error {
	var bad Complaints
	t.Check(&bad, leases)
	return errors.Join(bad...)
}

// Check complains about every field that is wrong.
func (t Timing) Check(c *Complaints, leases bool) {
	if t.Heartbeat < shortest {
		c.Add("Timing.Heartbeat", "is %v, must be %v or more", t.Heartbeat, shortest)
	}
	switch {
	case t.Leak == 1:
		c.Add("Timing.Leak", "is 1, must be %d to %d: otherwise a heartbeat that takes a little longer than the last one would come too late", minLeak, maxLeak)
	case t.Leak < minLeak || t.Leak > maxLeak:
		c.Add("Timing.Leak", "is %d, must be %d to %d", t.Leak, minLeak, maxLeak)
	case t.Heartbeat > maxDetection/time.Duration(t.Leak):
		c.Add("Timing.Heartbeat", "%v times Timing.Leak %d is more than %v", t.Heartbeat, t.Leak, maxDetection)
	case leases && t.DriftMargin > 0 && t.Detection()-t.DriftMargin <= t.Heartbeat:
		c.Add("Timing.DriftMargin", "%v leaves a lease of %v, must leave more than a heartbeat of %v: a lease is renewed when the next heartbeat is answered",
			t.DriftMargin, max(t.Detection()-t.DriftMargin, 0), t.Heartbeat)
	}
	if t.MinVoteWait < shortest {
		c.Add("Timing.MinVoteWait", "is %v, must be %v or more: a candidate without answers asks all others each time", t.MinVoteWait, shortest)
	}
	if t.MinVoteWait >= t.MaxVoteWait {
		c.Add("Timing.MaxVoteWait", "is %v, must be more than Timing.MinVoteWait %v", t.MaxVoteWait, t.MinVoteWait)
	}
	if t.MaxVoteWait > maxDetection {
		c.Add("Timing.MaxVoteWait", "is %v, %v is the most", t.MaxVoteWait, maxDetection)
	}
	if t.RoundTimeout < shortest || t.RoundTimeout > maxDetection {
		c.Add("Timing.RoundTimeout", "is %v, must be %v to %v", t.RoundTimeout, shortest, maxDetection)
	}
	if leases && t.DriftMargin <= 0 {
		c.Add("Timing.DriftMargin", "is %v, must be more than 0 with leases", t.DriftMargin)
	}
}

// minLeak leaves room for heartbeats that take different times. maxLeak bounds the beats that a
// leader counts; it fits in a byte.
const minLeak, maxLeak = 2, 100
