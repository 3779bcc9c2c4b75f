//go:build race

// One processor for bubbles under the race detector.

package shell

import "runtime"

// The race detector of Go 1.26 has one context for all timers of a bubble, which two
// processors use at one time if goroutines of one bubble find timers due just when they begin
// to wait for them. It may crash then.
func init() { runtime.GOMAXPROCS(1) }
