// No wall clock is read: one that jumps changes nothing.

package elector_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/elector"
)

const day = 24 * time.Hour

// jumpingClock is a clock whose wall time is off by a day, forwards and back in
// turn, and whose monotonic reading goes on as it should. It must be made outside
// a bubble: inside, time.Now has no monotonic reading. A time.Time is made of its
// wall seconds, in the upper bits of the first word, and its monotonic
// nanoseconds, in the second.
func jumpingClock() func() time.Time {
	var reads atomic.Int64
	base := time.Now()
	began := sync.OnceValue(time.Now)
	return func() time.Time {
		t, off := base, int64(day/time.Second)
		if reads.Add(1)%2 == 0 {
			off = -off
		}
		words := (*[2]uint64)(unsafe.Pointer(&t))
		words[0] += uint64(off) << 30
		words[1] += uint64(time.Since(began()))
		return t
	}
}

func TestTheJumpingClockJumps(t *testing.T) {
	clock := jumpingClock()
	first, second := clock(), clock()
	assert.InDelta(t, float64(-2*day), float64(second.Round(0).Sub(first.Round(0))), float64(time.Minute))
	assert.Less(t, second.Sub(first), time.Minute)
	assert.GreaterOrEqual(t, second.Sub(first), time.Duration(0))
}

func TestAJumpOfTheWallClockChangesNothing(t *testing.T) {
	clock := jumpingClock()
	synctest.Test(t, func(t *testing.T) {
		town := newTown(t, 3, func(c *config) { c.Leases = true })
		town.clock = clock
		town.open()
		defer town.close()
		leader := town.leader()
		led := leader.el.Status()
		for range 100 {
			town.pass(time.Second)
			assert.Equal(t, led, leader.el.Status(), "it leads on")
			_, until, held := leader.el.Lease()
			assert.True(t, held)
			assert.LessOrEqual(t, until.Sub(clock()), elector.DefaultTiming().Detection())
		}
		assert.NoError(t, town.end(leader))
		assert.NotEqual(t, leader, town.leader())
	})
}
