// One of those who search together. Each has a model of its own, so what a step does can be
// looked up without a lock; states are common to all, and so is what a node can do next,
// which is most of the work. All that is one step from the beginning is
// looked at before anything that is two steps from it, and so on.

package explore

import (
	"context"
	"time"
)

type worker struct {
	*search
	model              *model
	at                 int32 // the state that it looks at, or -1
	transitions, steps uint64
	found              []find                // and has not kept yet
	now                localKey              // of the node that it asks about
	before             [mostMembers]struct { // in the state that it looks at
		key   localKey
		local *local
	}
}

// find is a state that was come to.
type find struct {
	state
	origin
	depth uint16
}

// work looks at states until there are no more, or the search is over.
func (x *worker) work(ctx context.Context) {
	for x.take(ctx) {
		x.expand(x.at)
		x.done()
	}
}

// take finds a state that nobody has looked at. A worker waits if there is none yet, for
// others may come to one.
func (x *worker) take(ctx context.Context) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for !x.over.Load() {
		if x.next < x.level {
			if x.next%lookEvery == 0 || ctx.Err() != nil || x.registry.full.Load() {
				x.look(ctx)
				if x.over.Load() {
					break
				}
			}
			x.at = int32(x.next)
			x.next++
			x.busy++
			return true
		}
		if x.busy == 0 {
			if x.next == x.states.count {
				break
			}
			x.level = x.states.count
			x.idle.Broadcast()
			continue
		}
		x.idle.Wait()
	}
	x.idle.Broadcast()
	return false
}

// done is when a worker has looked at its state.
func (x *worker) done() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at = -1
	x.result.Transitions, x.result.Steps = x.result.Transitions+x.transitions, x.result.Steps+x.steps
	x.transitions, x.steps = 0, 0
	if x.busy--; x.busy == 0 {
		x.idle.Broadcast()
	}
}

// lookEvery is after how many states somebody looks up.
const lookEvery = 1 << 8

// look tells how far the search has come, and ends it if it has come far enough.
func (x *search) look(ctx context.Context) {
	o := &x.options
	x.result.Memory = max(x.result.Memory, memoryUsed())
	x.result.Stopped = o.enough(ctx, &x.result, x.states.count, x.registry)
	if o.Progress != nil {
		o.Progress(x.summary())
	}
	if o.Checkpoint != "" && time.Since(x.saved) > saveEvery {
		x.err = x.save()
	}
	if x.result.Stopped != "" || x.err != nil {
		x.over.Store(true)
	}
}
