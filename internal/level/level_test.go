// Watching a value: readers skip values, but see the latest and the last.

package level_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/internal/level"
)

func TestALevelIsOneWord(t *testing.T) {
	assert.Equal(t, unsafe.Sizeof(uintptr(0)), unsafe.Sizeof(level.Level[[100]int]{}))
}

func TestWatchersSeeTheLatestValueAndEnd(t *testing.T) {
	const last = 1000
	for range 50 {
		var l level.Level[int]
		l.Set(0)
		var watching sync.WaitGroup
		for range 4 {
			watching.Go(func() {
				seen := -1
				for v := range l.Watch(t.Context(), func(v int) bool { return v == last }) {
					assert.Greater(t, v, seen)
					seen = v
				}
				assert.Equal(t, last, seen)
			})
		}
		for range 2 {
			watching.Go(func() {
				for changed := true; changed; {
					_, changed = l.Update(func(v int) (int, bool) { return v + 1, v < last })
				}
			})
		}
		watching.Wait()
		assert.Equal(t, last, l.Load())
	}
}

// No other change follows, so a watcher that misses this one waits for ever. The change must come while the watcher begins to wait,
// and seldom does, so there are many rounds.
func TestNoWatcherMissesTheLastChange(t *testing.T) {
	for range 40_000 {
		var l level.Level[bool]
		l.Set(false)
		var watching sync.WaitGroup
		for range 2 {
			watching.Go(func() {
				for range l.Watch(t.Context(), func(changed bool) bool { return changed }) {
				}
			})
		}
		l.Update(func(bool) (bool, bool) { return true, true })
		watching.Wait()
	}
}

// A change that comes between two steps of a watcher that begins to wait must not be missed. The watcher says when it takes these
// steps, and changes come a little sooner or later each time, or they would hardly ever come in between.
func TestNoWatcherMissesAChangeAsItBeginsToWait(t *testing.T) {
	for round := range 40_000 {
		var l level.Level[bool]
		l.Set(false)
		var waits atomic.Bool
		var watching sync.WaitGroup
		watching.Go(func() {
			for range l.Watch(t.Context(), func(changed bool) bool { waits.Store(true); return changed }) {
			}
		})
		for looks := 1; !waits.Load(); looks++ {
			if looks%1000 == 0 { // or the watcher has no processor
				runtime.Gosched()
			}
		}
		for range round % 64 {
			waits.Load()
		}
		l.Update(func(bool) (bool, bool) { return true, true })
		watching.Wait()
	}
}

func TestWatchingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l level.Level[int]
		l.Set(1)
		ctx, cancel := context.WithCancel(t.Context())
		var seen []int
		go func() {
			for v := range l.Watch(ctx, func(int) bool { return false }) {
				seen = append(seen, v)
			}
			seen = append(seen, -1)
		}()
		synctest.Wait()
		l.Update(func(int) (int, bool) { return 2, true })
		synctest.Wait()
		cancel()
		synctest.Wait()
		assert.Equal(t, []int{1, 2, -1}, seen)
	})
}

func TestAContextThatHasEndedYieldsNothing(t *testing.T) {
	var l level.Level[int]
	l.Set(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range l.Watch(ctx, func(int) bool { return false }) {
		assert.Fail(t, "it has yielded a value")
	}
}
