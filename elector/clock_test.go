// The elector reads no wall clock, so a jump of it changes nothing.

package elector_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/elector"
)

const day = 24 * time.Hour

// jumpingClock is a clock whose wall time is a day ahead and a day behind in turn, and
// whose monotonic reading is right. It must be made outside a synctest bubble, because
// inside time.Now has no monotonic reading. A time.Time has its wall seconds in the upper
// bits of the first word, and its monotonic nanoseconds in the second.
func jumpingClock() func() time.Time {
	var reads atomic.Int64
	base := time.Now()
	began := sync.OnceValue(time.Now)
	return func() time.Time {
		t, off := base, int64(day/time.Second)
		if reads.Add(1)%2 == 0 {
			off = -off
		}
		offers := (*[2]uint64)(unsafe.Pointer(&t))
		offers[0] += uint64(off) << 30
		offers[1] += uint64(time.Since(began()))
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
	withNewCluster(t, 3, func(c *config) { c.Leases = true }, func(cluster *cluster) {
		cluster.clock = clock
		cluster.startAll()
		leader := cluster.awaitLeader()
		led := leader.el.Status()
		for range 100 {
			cluster.pass(time.Second)
			assert.Equal(t, led, leader.el.Status(), "it leads on")
			_, until, held := leader.el.Lease()
			assert.True(t, held)
			assert.LessOrEqual(t, until.Sub(clock()), elector.DefaultTiming().Detection())
		}
		assert.NoError(t, cluster.stop(leader))
		assert.NotEqual(t, leader, cluster.awaitLeader())
	})
}
