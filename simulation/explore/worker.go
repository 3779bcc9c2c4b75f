// A worker: one goroutine of a search. Each has a model of its own, so that most look-ups need no lock. All
// share the states and the results about nodes: those of steps, the unprompted steps, and the successors.

package explore

import (
	"context"
	"time"
)

type worker struct {
	*search
	model              *model
	batch              []pendingState // states that it expands
	holdsBatch         bool           // it has taken some, though others may cover all of them
	discovered         []discovery    // their successors
	duplicates         duplicateFilter
	transitions, steps uint64
	now                expansionKey          // of the node in question
	members            [mostMembers]struct { // by node of the state that is being expanded
		key             expansionKey
		cachedExpansion *expansion
	}
}

// pendingState is a state that is to be expanded.
type pendingState struct {
	at    int32
	state state
	depth uint16
}

// discovery is a state that was found.
type discovery struct {
	state    state
	from     origin
	depth    uint16
	priority priority
	at       int32 // once it is kept
}

// work expands states until there are no more, or the search is over.
func (x *worker) work(ctx context.Context) {
	for x.exchange(ctx) {
		for i := range x.batch {
			x.expand(&x.batch[i])
		}
	}
}

// exchange keeps and checks the states that the worker has found, and takes others to expand. If there are none
// yet it waits, because other workers may find some.
func (x *worker) exchange(ctx context.Context) (more bool) {
	x.mu.Lock()
	isNew := x.store()
	x.mu.Unlock()
	for i := range isNew {
		x.check(isNew[i].at, &isNew[i].state)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.enqueue(isNew)
	x.finishBatch()
	return x.takeBatch(ctx)
}

// check reports the invariants that a state breaks.
func (x *worker) check(at int32, s *state) {
	if d := x.model.stateDefect(s); !d.none() {
		x.violated(at, 0, &violatingStep{defect: d})
	}
}

// store adds the worker's finds to the known states, unless one of those covers them, and returns the new ones, in
// the same memory. If there are more messages than there is room for, a find may hold one for another, so nothing
// is kept.
func (x *worker) store() (isNew []discovery) {
	isNew = x.discovered[:0]
	if x.registry.full.Load() {
		return isNew
	}
	x.states.victories.join(&x.model.victories) // a worker that has found a state knows its messages
	for i := range x.discovered {
		f := &x.discovered[i]
		if at, ok := x.states.add(&f.state, f.from, f.depth); ok {
			x.result.Depth = max(x.result.Depth, int(f.depth))
			f.at = at
			isNew = append(isNew, *f)
		}
	}
	return isNew
}

// enqueue puts states that were checked on the frontier.
func (x *worker) enqueue(isNew []discovery) {
	for i := range isNew {
		x.frontier.add(queued{isNew[i].priority, isNew[i].at})
	}
	x.discovered = x.discovered[:0]
	x.idle.Broadcast()
}

// finishBatch notes that a worker has expanded its states. If the search is over it may have stopped before the last of
// them, so they do not count as looked at.
func (x *worker) finishBatch() {
	x.result.Transitions, x.result.Steps = x.result.Transitions+x.transitions, x.result.Steps+x.steps
	x.transitions, x.steps = 0, 0
	if !x.holdsBatch || x.over.Load() {
		return
	}
	for i := range x.batch {
		x.states.record(x.batch[i].at).expanded = true
	}
	x.batch, x.holdsBatch = x.batch[:0], false
	if x.busy--; x.busy == 0 {
		x.idle.Broadcast()
	}
}

// takeBatch finds the next states to expand. It may release the lock for a while.
func (x *worker) takeBatch(ctx context.Context) bool {
	for !x.over.Load() {
		switch {
		case x.mayTake():
			if x.sinceCheck >= checkEvery || ctx.Err() != nil || x.registry.full.Load() {
				x.checkLimits(ctx)
				if x.over.Load() {
					break
				}
			}
			x.takeShare()
			return true
		case x.busy > 0:
			x.idle.Wait()
		case len(x.frontier) > 0:
			x.level = x.frontier[0].priority
			x.idle.Broadcast()
		default:
			x.idle.Broadcast()
			return false
		}
	}
	x.idle.Broadcast()
	return false
}

// mayTake says whether there is a state that may be expanded. In a breadth-first search all states of a level come
// before the next level.
func (x *search) mayTake() bool {
	return len(x.frontier) > 0 && (!x.states.byDepth || x.frontier[0].priority <= x.level)
}

// takeShare takes a fair share of the next states: one, if no other worker wants the lock.
func (x *worker) takeShare() {
	share := 1
	if len(x.workers) > 1 {
		share = min(mostBatch, 1+len(x.frontier)/(4*len(x.workers)))
	}
	for ; share > 0 && x.mayTake(); share-- {
		at := x.frontier.pop()
		x.sinceCheck++
		if r := x.states.record(at); !r.covered {
			x.batch = append(x.batch, pendingState{at, x.states.state(at), r.depth})
		}
	}
	x.holdsBatch = true
	x.busy++
}

// mostBatch is how many states a worker takes at once.
const mostBatch = 16

// checkEvery is the number of states between two calls of checkLimits.
const checkEvery = 1 << 8

// checkLimits reports progress, and ends the search if it has gone far enough.
func (x *search) checkLimits(ctx context.Context) {
	x.sinceCheck = 0
	o := &x.options
	x.result.Memory = max(x.result.Memory, MemoryUsed())
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
