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
		groups[i] = &Group{desk: new(desk)}
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
	for i := range groups {
		groups[i].desk = new(desk)
	}
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
	one := Group{desk: new(desk)}
	for wait := time.Duration(cap(a.heap) - len(a.heap) + 1); wait > 0; wait-- {
		a.set(&one, wait)
	}
	assert.Len(t, a.heap, 1, "those whose groups have no alarm go, too")
}

// A clock may begin at zero, and a wait may be as short.
func TestAnAlarmThatIsDueAtOnceRings(t *testing.T) {
	var a alarms
	g := &Group{desk: new(desk)}
	a.set(g, 0)
	assert.Same(t, g, a.ripe(1))
	assert.Nil(t, a.ripe(1))
	a.set(g, 0)
	a.remove(g)
	assert.Nil(t, a.ripe(1), "unless it was removed")
}

func TestAnAlarmThatHasRungKeepsNoGroup(t *testing.T) {
	var a alarms
	for range 3 {
		a.set(&Group{desk: new(desk)}, 1)
	}
	for a.ripe(1) != nil {
	}
	for _, entry := range a.heap[:cap(a.heap)] {
		assert.Nil(t, entry.group)
	}
}

// To look for stale entries takes a look at all. So it must leave room for many.
func TestStaleEntriesAreRarelyLookedFor(t *testing.T) {
	var a alarms
	stale := &Group{desk: new(desk)}
	a.set(stale, 1)
	for range 100 {
		a.set(&Group{desk: new(desk)}, 1)
	}
	for len(a.heap) < cap(a.heap) {
		a.set(&Group{desk: new(desk)}, 1)
	}
	a.remove(stale)
	a.set(&Group{desk: new(desk)}, 1)
	assert.GreaterOrEqual(t, cap(a.heap)-len(a.heap), len(a.heap)/8)
}
