// The links and disks, which are the same for both libraries: what is sent arrives a delay later, in the
// order of sending, and a disk saves one batch at a time.

package drain

import (
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/bench/wire"
)

// link carries what one node sends to another.
type link struct {
	queue *wire.Queue
	delay time.Duration
}

func newLink(delay time.Duration) *link { return &link{wire.NewQueue(nil), delay} }

// Send has something delivered when it arrives.
func (l *link) Send(deliver func()) {
	due := time.Now().Add(l.delay)
	l.queue.Put(func() {
		time.Sleep(time.Until(due))
		deliver()
	})
}

// disk is the disk of one node.
type disk struct{ save atomic.Int64 }

// spin makes saves take this long.
func (d *disk) spin(save time.Duration) { d.save.Store(int64(save)) }

// sync returns when a batch has been saved.
func (d *disk) sync() { time.Sleep(time.Duration(d.save.Load())) }
