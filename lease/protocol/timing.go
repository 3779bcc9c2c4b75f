// The intervals of a keeper's leases.

package protocol

import "time"

// Timing holds the intervals of a keeper's leases. Candidates for one lease may
// have different ones: each waits as long as the holder's TTL says.
type Timing struct {
	// TTL is how long a lease lasts without a renewal, which is about how long there
	// is no leader after a crash.
	TTL time.Duration
	// Renew is the interval of a holder's renewals. After a failure the next one
	// comes sooner.
	Renew time.Duration
	// Poll is the longest interval between two polls of a candidate. Every wait is
	// drawn from its upper half.
	Poll time.Duration
	// Timeout is how long one statement may take.
	Timeout time.Duration
	// DriftMargin is the time by which a lease is shorter at its holder than in the
	// database. It keeps different rates of their clocks, and a database that rounds
	// to milliseconds, from making two holders.
	DriftMargin time.Duration
}

// DefaultTiming replaces a crashed leader four to seven seconds after the crash, up to
// eight if candidates are strict. A leader writes about every two seconds, and a
// candidate reads once or twice a second.
func DefaultTiming() Timing {
	return Timing{
		TTL: 6 * time.Second, Renew: 2 * time.Second, Poll: time.Second,
		Timeout: 2 * time.Second, DriftMargin: 60 * time.Millisecond,
	}
}

// validity returns how long a lease may be used, counted from before its claim was sent.
func (t Timing) validity() time.Duration { return t.TTL - t.DriftMargin }

// pollWithin bounds a candidate's wait before the next poll.
func (t Timing) pollWithin() (least, most time.Duration) { return t.Poll - t.Poll/2, t.Poll }

// lookWithin bounds the wait of candidates that were woken or have just joined, so that they do
// not all come at once. A read costs a database little, so the wait is short.
func (t Timing) lookWithin() (least, most time.Duration) { return 0, min(t.Poll/8, atOnce) }

// looksApart is the least time between two looks at woken leases: a storm of wake-ups costs the
// database no more than eight reads in a Poll.
func (t Timing) looksApart() time.Duration { return t.Poll / 8 }

// lastChoice is how long a candidate that is not able to lead leaves a free lease to others. An able
// candidate sees that it is free at most a poll later than this one; two polls if it is strict, because it
// counts a TTL from its own first sight of the last renewal; and three if it has resigned and stands back
// for two. The fourth poll is for its claim.
func (t Timing) lastChoice() time.Duration { return 4 * t.Poll }

// atOnce is too short to be noticed as a wait.
const atOnce = 10 * time.Millisecond

// renewWithin bounds a holder's wait before the next renewal, which is shorter if the last one
// was not answered.
func (t Timing) renewWithin(answered bool) (least, most time.Duration) {
	most = t.Renew
	if !answered {
		most = t.Renew / 4
	}
	return most - most/8, most
}

// releaseWithin bounds the wait before the next attempt at a release that has failed, after a
// number of attempts.
func (t Timing) releaseWithin(tries int) (least, most time.Duration) {
	most = t.Renew / 4 >> max(0, 3-tries)
	return most - most/8, most
}
