//go:build race

// This file gives bubbles one processor under the race detector.

package shell

import "runtime"

// The race detector of Go 1.26 has one context for all timers of a bubble. Two processors use it at
// one time if goroutines of one bubble begin to wait for timers that are already due. It may
// crash then.
func init() { runtime.GOMAXPROCS(1) }
