//go:build unix

package node

import "golang.org/x/sys/unix"

// monotonic is the machine's monotonic clock, in nanoseconds. It is the clock by
// which Go measures, and all processes on the machine see the same.
func monotonic() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0 // there is no Unix without it
	}
	return t.Nano()
}
