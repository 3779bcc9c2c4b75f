// A process's clock: it counts from the start of the process, and may run too fast or too
// slow.

package simulation

import "time"

// clock is a clock that counts local nanoseconds. It counts from one, because a time of
// zero means none.
type clock struct {
	trueBase, base int64 // what it shows at that true time
	rate           int64 // parts in a million that it runs too fast since then

	asked time.Duration // what when was last asked for, which it is often again; 0: nothing
	at    int64         // and what it said
}

// start has the clock of a new process begin to count.
func (c *clock) start(now int64) { *c = clock{trueBase: now, base: 1, rate: c.rate} }

// setRate has the clock run at another rate from now on.
func (c *clock) setRate(now, rate int64) {
	*c = clock{trueBase: now, base: int64(c.shows(now)), rate: rate}
}

// shows is what the clock shows at a true time.
func (c *clock) shows(now int64) time.Duration {
	passed := now - c.trueBase
	return time.Duration(c.base + passed + gained(passed, c.rate))
}

// gained is by how much a clock is ahead that runs too fast for so long. It is split, because
// the product of both may not fit.
func gained(passed, rate int64) int64 {
	if rate == 0 {
		return 0
	}
	return passed/million*rate + passed%million*rate/million
}

// when is the true time from which on the clock shows a time, or more.
func (c *clock) when(local time.Duration) int64 {
	if local != c.asked {
		c.asked, c.at = local, c.find(local)
	}
	return c.at
}

func (c *clock) find(local time.Duration) int64 {
	passed := int64(local) - c.base
	if c.rate == 0 {
		return c.trueBase + passed
	}
	ahead, speed := gained(passed, c.rate), million+c.rate
	at := c.trueBase + passed - (ahead/speed*million + ahead%speed*million/speed) // up to rounding
	for c.shows(at) < local {
		at++
	}
	for c.shows(at-1) >= local {
		at--
	}
	return at
}

const million = 1_000_000
