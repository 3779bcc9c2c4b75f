// The lines between nodes, and other work that is done in order.

package hangs

import (
	"sync"
	"time"

	"github.com/hustings/hustings/bench/wire"
)

// Network has the lines between all nodes.
type Network struct {
	mu     sync.Mutex
	queues []*wire.Queue
}

// Queue makes a queue that ends with the network.
func (n *Network) Queue() *wire.Queue {
	q := wire.NewQueue(nil)
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
		q.End()
	}
}

// Line carries messages from one node to another. All take the same time, so they arrive in the
// order of sending. The messages of a stopped process wait, and those of one that has ended are lost.
type Line struct {
	queue    *wire.Queue
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
