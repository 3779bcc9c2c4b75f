// Package wire has what carries messages in benches that have links of their own: work that is done in order, and our transport.
package wire

import "sync"

// Queue does one thing after the other, in a goroutine of its own.
type Queue struct {
	mu      sync.Mutex
	waiting []func()
	wake    chan struct{} // receives a value when something waits
	ended   chan struct{}
	after   func()
}

// NewQueue makes a queue. After, if it is not nil, is called whenever everything that waited has been done.
func NewQueue(after func()) *Queue {
	q := &Queue{wake: make(chan struct{}, 1), ended: make(chan struct{}), after: after}
	go q.run()
	return q
}

// Put adds work, and does not wait for it.
func (q *Queue) Put(work func()) {
	q.mu.Lock()
	q.waiting = append(q.waiting, work)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default: // a value is already waiting
	}
}

// End ends the queue after the work under way, and does not wait for that.
func (q *Queue) End() { close(q.ended) }

func (q *Queue) run() {
	for {
		select {
		case <-q.wake:
		case <-q.ended:
			return
		}
		q.mu.Lock()
		all := q.waiting
		q.waiting = nil
		q.mu.Unlock()
		for _, work := range all {
			select {
			case <-q.ended:
				return
			default:
				work()
			}
		}
		if q.after != nil {
			q.after()
		}
	}
}
