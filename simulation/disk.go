// A node's disk: what it has, and what it was told to keep.

package simulation

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// disk keeps the hard state of one group. A crash during a save leaves the old
// state or the new one; whole, as the store promises.
type disk struct {
	durable memberstate.HardState
	written memberstate.HardState // not synced, if pending
	pending bool
	slow    bool // saves take long
	failing bool // the next sync fails
}

func (d *disk) open() { d.pending, d.failing = false, false }

// save begins to make a state durable.
func (d *disk) save(n *node, h memberstate.HardState) {
	d.written, d.pending = h, true
	takes := 200*time.Microsecond + n.world.draw(time.Millisecond)
	if d.slow {
		takes += n.world.draw(n.world.options.Timing.Detection())
	}
	n.world.after(takes, saveEnds, n, n.incarnation)
}

// sync ends a save, and says whether it succeeded. A failed one may have reached the
// disk all the same.
func (d *disk) sync() bool {
	if !d.pending {
		return true
	}
	if d.failing {
		d.failing = false
		return false
	}
	d.durable, d.pending = d.written, false
	return true
}

// crash may lose what was not synced.
func (d *disk) crash(w *world) {
	if d.pending && w.random.IntN(2) == 0 {
		d.durable = d.written
	}
	d.pending = false
}
