// Clocks with different rates. They compute in whole numbers, so that results are the same on every
// machine.

package leases

import "time"

// clock shows a time at some true time, and continues from there.
type clock struct {
	since int64 // true time, in nanoseconds
	shown time.Duration
	rate  int64 // in millionths of a true second a second
}

const trueRate = 1_000_000

// reading is the time that it shows.
func (c *clock) reading(now int64) time.Duration {
	return c.shown + time.Duration((now-c.since)*c.rate/trueRate)
}

// when is the first true time, from now on, at which it shows a time.
func (c *clock) when(reading time.Duration, now int64) int64 {
	return max(now, c.since+(int64(reading-c.shown)*trueRate+c.rate-1)/c.rate)
}

// lasts is the true time that passes while it advances by d.
func (c *clock) lasts(d time.Duration) int64 { return (int64(d)*trueRate + c.rate - 1) / c.rate }
