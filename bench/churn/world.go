// Virtual time: events in the order in which they are due. Nothing is waited for, and
// what a message or a save takes is the same for everyone.

package churn

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// delay is how long a message takes one way, and save how long a disk does.
const (
	delay = 5 * time.Millisecond
	save  = time.Millisecond
)

type world struct {
	now    time.Duration
	random *rand.Rand
	events events
	number uint64
}

func newWorld(seed uint64) *world { return &world{random: rand.New(rand.NewPCG(seed, 1))} }

// after has something happen when so much time has passed.
func (w *world) after(d time.Duration, what func()) {
	w.number++
	heap.Push(&w.events, event{w.now + d, w.number, what})
}

// draw is a time below d.
func (w *world) draw(d time.Duration) time.Duration { return time.Duration(w.random.Int64N(int64(d))) }

// run lets time pass until something is so, and says whether it came to that in time.
func (w *world) run(within time.Duration, so func() bool) bool {
	for end := w.now + within; !so(); {
		if len(w.events) == 0 || w.events[0].due > end {
			return false
		}
		e := heap.Pop(&w.events).(event)
		w.now = e.due
		e.what()
	}
	return true
}

// pass lets so much time pass.
func (w *world) pass(d time.Duration) {
	over := false
	w.after(d, func() { over = true })
	w.run(d, func() bool { return over })
}

type event struct {
	due    time.Duration
	number uint64 // of two that are due at once, the first first
	what   func()
}

// events is a heap.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].due < e[j].due || e[i].due == e[j].due && e[i].number < e[j].number
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}
