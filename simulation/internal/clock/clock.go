// Package clock is the clock of a simulated process: it counts from the start of the process, and
// may run too fast or too slow.
package clock

import "time"

// Clock counts local nanoseconds. It counts from one, because a time of zero means none.
type Clock struct {
	trueBase, base int64 // what it shows at that true time
	rate           int64 // parts in a million that it runs too fast since then

	asked time.Duration // the last argument of When, which is often the next one, too; 0: there was none
	at    int64         // and its result
}

// Start sets the clock to that of a new process.
func (c *Clock) Start(now int64) { *c = Clock{trueBase: now, base: 1, rate: c.rate} }

// SetRate has the clock run too fast from now on, by a rate in parts in a million.
func (c *Clock) SetRate(now, rate int64) {
	*c = Clock{trueBase: now, base: int64(c.Shows(now)), rate: rate}
}

// Rate is by how many parts in a million the clock runs too fast.
func (c *Clock) Rate() int64 { return c.rate }

// Shows is what the clock shows at a true time.
func (c *Clock) Shows(now int64) time.Duration {
	passed := now - c.trueBase
	return time.Duration(c.base + passed + gained(passed, c.rate))
}

// gained is how far a clock is ahead that has run too fast for a time. The product is computed in
// two parts, because it may not fit.
func gained(passed, rate int64) int64 {
	if rate == 0 {
		return 0
	}
	return passed/million*rate + passed%million*rate/million
}

// When is the true time from which on the clock shows a time, or more.
func (c *Clock) When(local time.Duration) int64 {
	if local != c.asked {
		c.asked, c.at = local, c.find(local)
	}
	return c.at
}

func (c *Clock) find(local time.Duration) int64 {
	passed := int64(local) - c.base
	if c.rate == 0 {
		return c.trueBase + passed
	}
	ahead, speed := gained(passed, c.rate), million+c.rate
	at := c.trueBase + passed - (ahead/speed*million + ahead%speed*million/speed) // up to rounding
	for c.Shows(at) < local {
		at++
	}
	for c.Shows(at-1) >= local {
		at--
	}
	return at
}

const million = 1_000_000
