// This file has the parts that worlds of both kinds share: goroutines, random numbers, and phases.

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
	over  chan struct{} // closed when all processes must end

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

// sleep waits, but at most until the world is over.
func (b *base) sleep(d time.Duration) { wait(d, b.over) }

// sleepInTrouble waits, but at most until no more faults strike.
func (b *base) sleepInTrouble(d time.Duration) { wait(d, b.calm) }

// wait waits for a time, but at most until end is closed, and says whether the time has passed.
// For no time it sets no timer, because the race detector may crash if a timer is already due
// when a goroutine begins to wait for it.
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

// torment makes faults strike one after another, each within this time after the last one, until
// the time of trouble is over or an invariant was violated.
func (b *base) torment(trouble, within time.Duration, violated <-chan struct{}, strike func()) {
	for end := time.Now().Add(trouble); ; strike() {
		next, left := b.drawn(within), time.Until(end)
		if !wait(min(next, left), violated) || next >= left {
			return
		}
	}
}

// after calls do after a time, unless the world is over by then.
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

// chance is true with the probability 1/of.
func (b *base) chance(of uint64) bool { return b.drawn64()%of == 0 }

// end waits until all goroutines have ended, or its patience has, and returns the stacks of
// the goroutines that are left.
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
