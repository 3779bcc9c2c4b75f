// Alarms ring in their order and never early, and stale entries do not pile up.

package protocol

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestAlarmsRingOnceAndNeverEarly compares the heap with a plain map, with alarms that are put off,
// brought forward and removed.
func TestAlarmsRingOnceAndNeverEarly(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	groups := make([]*Group, 40)
	for i := range groups {
		groups[i] = new(Group)
	}
	var a alarms
	due := map[*Group]time.Duration{}
	for now := range time.Duration(5000) {
		for range random.IntN(8) {
			g := groups[random.IntN(len(groups))]
			if random.IntN(10) == 0 {
				a.remove(g)
				delete(due, g)
			} else {
				due[g] = now + 1 + time.Duration(random.IntN(200))
				a.set(g, due[g])
			}
		}
		for g := a.ripe(now); g != nil; g = a.ripe(now) {
			at, set := due[g]
			assert.True(t, set, "it had an alarm")
			assert.LessOrEqual(t, at, now, "and was due")
			delete(due, g)
		}
		for _, at := range due {
			assert.Greater(t, at, now, "none is left that was due")
		}
		if next, ok := a.next(); len(due) > 0 && assert.True(t, ok) {
			for _, at := range due {
				assert.LessOrEqual(t, next, at, "the host wakes up in time")
			}
		}
	}
}

func TestStaleEntriesOfAlarmsDoNotPileUp(t *testing.T) {
	groups := make([]Group, 100)
	var a alarms
	for wait := 10_000 * time.Hour; wait > 0; wait -= time.Hour {
		for i := range groups {
			a.set(&groups[i], wait) // brought forward, again and again
		}
	}
	assert.LessOrEqual(t, cap(a.heap), 2*len(groups))
	for i := range groups {
		a.remove(&groups[i])
	}
	var one Group
	for wait := time.Duration(cap(a.heap) - len(a.heap) + 1); wait > 0; wait-- {
		a.set(&one, wait)
	}
	assert.Len(t, a.heap, 1, "those whose groups have no alarm go, too")
}
