//go:build race

// Bubbles run on one processor under the race detector.

package cli

import "runtime"

// The race detector of Go 1.26 has one context for all timers of a bubble. It can crash if
// two processors use it at the same time, which happens when goroutines of one bubble find
// timers due just as they begin to wait for them.
func init() { runtime.GOMAXPROCS(1) }
