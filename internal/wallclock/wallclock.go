// Package wallclock sets the wall clock of a test: code that reads the monotonic clock notes nothing.
package wallclock

import (
	"time"
	"unsafe"
)

// Back changes a time that was taken before as if the host's clock had been set back since: its wall
// time is later by a number of seconds, and its monotonic reading is what it was. A time.Time has its
// wall seconds in the upper bits of the first word. It must not come from a synctest bubble, where
// times have no monotonic reading.
func Back(taken *time.Time, seconds uint32) {
	*(*uint64)(unsafe.Pointer(taken)) += uint64(seconds) << 30
}
