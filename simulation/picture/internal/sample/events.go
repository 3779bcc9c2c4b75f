// What happens next, in the order of time.

package sample

import (
	"container/heap"
	"time"
)

type event struct {
	at     time.Duration
	number int // of events at one time the first that was scheduled
	do     func()
}

type events struct {
	heap   []event
	number int
}

func (e *events) Len() int { return len(e.heap) }

func (e *events) Less(i, j int) bool {
	a, b := &e.heap[i], &e.heap[j]
	return a.at < b.at || a.at == b.at && a.number < b.number
}

func (e *events) Swap(i, j int) { e.heap[i], e.heap[j] = e.heap[j], e.heap[i] }

func (e *events) Push(x any) { e.heap = append(e.heap, x.(event)) }

func (e *events) Pop() any {
	last := e.heap[len(e.heap)-1]
	e.heap = e.heap[:len(e.heap)-1]
	return last
}

func (w *world) after(wait time.Duration, do func()) {
	w.events.number++
	heap.Push(&w.events, event{w.now + wait, w.events.number, do})
}

// next lets the next event happen, and says whether there was one.
func (w *world) next() bool {
	if w.events.Len() == 0 {
		return false
	}
	e := heap.Pop(&w.events).(event)
	w.now = e.at
	e.do()
	return true
}
