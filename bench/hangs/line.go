// The lines between nodes, and other work that is done in order.

package hangs

import (
	"sync"
	"time"
)

// Queue does one thing after the other, in a goroutine of its own.
type Queue struct {
	mu      sync.Mutex
	waiting []func()
	wake    chan struct{} // receives a value when something waits
	ended   chan struct{}
}

func newQueue() *Queue {
	q := &Queue{wake: make(chan struct{}, 1), ended: make(chan struct{})}
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

// end ends the queue after the work under way, and does not wait for that.
func (q *Queue) end() { close(q.ended) }

func (q *Queue) run() {
	for {
		select {
		case <-q.wake:
		case <-q.ended:
			return
		}
		for work := q.next(); work != nil; work = q.next() {
			work()
		}
	}
}

// next takes the first work; nil if there is none, or the queue has ended.
func (q *Queue) next() (work func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.ended:
		return nil
	default:
	}
	if len(q.waiting) > 0 {
		work, q.waiting = q.waiting[0], q.waiting[1:]
	}
	return work
}

// Network has the lines between all nodes.
type Network struct {
	mu     sync.Mutex
	queues []*Queue
}

// Queue makes a queue that ends with the network.
func (n *Network) Queue() *Queue {
	q := newQueue()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queues = append(n.queues, q)
	return q
}

// close ends all lines.
func (n *Network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, q := range n.queues {
		q.end()
	}
}

// Line carries messages from one node to another. All take the same time, so they arrive in the
// order of sending. The messages of a stopped process wait, and those of one that has ended are lost.
type Line struct {
	queue    *Queue
	from, to *Node
}

// Line makes a line.
func (n *Network) Line(from, to *Node) *Line { return &Line{n.Queue(), from, to} }

// Send has a message delivered when it arrives.
func (l *Line) Send(deliver func()) {
	due := time.Now().Add(delay)
	l.queue.Put(func() {
		time.Sleep(time.Until(due))
		l.from.process.pass()
		l.to.process.pass()
		if !l.from.gone.Load() && !l.to.gone.Load() {
			deliver()
		}
	})
}
