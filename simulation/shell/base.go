// What worlds of both kinds have: their goroutines, what is drawn, and how far they are.

package shell

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

type base struct {
	work  sync.WaitGroup
	moves *atomic.Uint64
	calm  chan struct{} // closed when no more faults strike
	over  chan struct{} // closed when all processes are to end

	mu     sync.Mutex
	random *rand.Rand
}

func newBase(random *rand.Rand, moves *atomic.Uint64) *base {
	return &base{moves: moves, calm: make(chan struct{}), over: make(chan struct{}), random: random}
}

func (b *base) isCalm() bool { return isClosed(b.calm) }
func (b *base) isOver() bool { return isClosed(b.over) }

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sleep waits, but not longer than the world lasts.
func (b *base) sleep(d time.Duration) { wait(d, b.over) }

// sleepInTrouble waits, but not longer than faults strike.
func (b *base) sleepInTrouble(d time.Duration) { wait(d, b.calm) }

// wait says whether the time has passed before it was to end. No timer is set for no time,
// because the race detector may crash by one that is due when somebody begins to wait for it.
func wait(d time.Duration, end <-chan struct{}) (passed bool) {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-end:
		return false
	}
}

// torment has faults strike one after another, each within a while after the last one, until
// their time is over or an invariant was violated.
func (b *base) torment(trouble, within time.Duration, violated <-chan struct{}, strike func()) {
	for end := time.Now().Add(trouble); ; strike() {
		next, left := b.drawn(within), time.Until(end)
		if !wait(min(next, left), violated) || next >= left {
			return
		}
	}
}

// after does something a while later, if the world still lasts.
func (b *base) after(d time.Duration, do func()) {
	b.work.Go(func() {
		b.sleep(d)
		if !b.isOver() {
			do()
		}
	})
}

// drawn draws from [0, most).
func (b *base) drawn(most time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return upTo(b.random, most)
}

func (b *base) drawn64() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.random.Uint64()
}

// chance says whether something strikes that does so one time of so many.
func (b *base) chance(of uint64) bool { return b.drawn64()%of == 0 }

// end waits until all goroutines have ended, but for those that never do, and returns their
// stacks.
func (b *base) end(patience time.Duration) (left []string) {
	done := make(chan struct{})
	go func() {
		b.work.Wait()
		close(done)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	settle()
	return goroutines()
}
