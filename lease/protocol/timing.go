// The intervals of a keeper's leases.

package protocol

import "time"

// Timing holds the intervals of a keeper's leases. Candidates for one lease may
// have different ones: each waits as long as the holder's TTL says.
type Timing struct {
	// TTL is how long a lease lasts without a renewal, and so about how long
	// there is no leader after a crash.
	TTL time.Duration
	// Renew is how often a holder renews. After a failure it tries again sooner.
	Renew time.Duration
	// Poll is how often a candidate looks, at most; it draws every wait from the
	// upper half.
	Poll time.Duration
	// Timeout is how long one statement may take.
	Timeout time.Duration
	// DriftMargin is what a lease is shorter at its holder than in the database,
	// so that no difference in the rates of their clocks makes two holders, nor the
	// milliseconds to which a database may round.
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

// validity is how long a lease may be used, counted from before it was asked for.
func (t Timing) validity() time.Duration { return t.TTL - t.DriftMargin }

// pollWithin is how long a candidate waits until it looks again, at least and at most.
func (t Timing) pollWithin() (least, most time.Duration) { return t.Poll - t.Poll/2, t.Poll }

// lookWithin is how long those wait who were woken or have just joined, so that they
// do not all come at once. A look costs a database little, so they need not wait long.
func (t Timing) lookWithin() (least, most time.Duration) { return 0, min(t.Poll/8, atOnce) }

// looksApart is how far apart those look who are woken again and again, at least: a storm
// of wakes costs the database no more than eight reads in a Poll.
func (t Timing) looksApart() time.Duration { return t.Poll / 8 }

// atOnce is what nobody takes for a wait.
const atOnce = 10 * time.Millisecond

// renewWithin is how long a holder waits until it renews again: less if the last
// renewal was not answered.
func (t Timing) renewWithin(answered bool) (least, most time.Duration) {
	most = t.Renew
	if !answered {
		most = t.Renew / 4
	}
	return most - most/8, most
}

// releaseWithin is how long one waits who could not release a lease, until it tries again
// after so many tries.
func (t Timing) releaseWithin(tries int) (least, most time.Duration) {
	most = t.Renew / 4 >> max(0, 3-tries)
	return most - most/8, most
}
