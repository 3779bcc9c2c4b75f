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
	due                []due  // states that it expands
	looks              bool   // it has taken some, though others may cover all of them
	found              []find // their successors
	duplicates         duplicateFilter
	transitions, steps uint64
	now                localKey              // of the node in question
	before             [mostMembers]struct { // by node of the state that is being expanded
		key   localKey
		local *local
	}
}

// due is a state that is to be expanded.
type due struct {
	at    int32
	state state
	depth uint16
}

// find is a state that was found.
type find struct {
	state state
	from  origin
	depth uint16
	rank  rank
	at    int32 // once it is kept
}

// work expands states until there are no more, or the search is over.
func (x *worker) work(ctx context.Context) {
	for x.exchange(ctx) {
		for i := range x.due {
			x.expand(&x.due[i])
		}
	}
}

// exchange keeps and checks the states that the worker has found, and takes others to expand. If there are none
// yet it waits, because other workers may find some.
func (x *worker) exchange(ctx context.Context) (more bool) {
	x.mu.Lock()
	isNew := x.keep()
	x.mu.Unlock()
	for i := range isNew {
		x.check(isNew[i].at, &isNew[i].state)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open(isNew)
	x.done()
	return x.take(ctx)
}

// check reports the invariants that a state breaks.
func (x *worker) check(at int32, s *state) {
	if d := x.model.wrong(s); !d.none() {
		x.violated(at, 0, &wrong{defect: d})
	}
}

// keep adds the worker's finds to the known states, unless one of those covers them, and returns the new ones, in
// the same memory. If there are more messages than there is room for, a find may hold one for another, so nothing
// is kept.
func (x *worker) keep() (isNew []find) {
	isNew = x.found[:0]
	if x.registry.full.Load() {
		return isNew
	}
	x.states.won.join(&x.model.won) // a worker that has found a state knows its messages
	for i := range x.found {
		f := &x.found[i]
		if at, ok := x.states.add(&f.state, f.from, f.depth); ok {
			x.result.Depth = max(x.result.Depth, int(f.depth))
			f.at = at
			isNew = append(isNew, *f)
		}
	}
	return isNew
}

// open puts states that were checked on the frontier.
func (x *worker) open(isNew []find) {
	for i := range isNew {
		x.frontier.add(waiting{isNew[i].rank, isNew[i].at})
	}
	x.found = x.found[:0]
	x.idle.Broadcast()
}

// done notes that a worker has expanded its states. If the search is over it may have stopped before the last of
// them, so they do not count as looked at.
func (x *worker) done() {
	x.result.Transitions, x.result.Steps = x.result.Transitions+x.transitions, x.result.Steps+x.steps
	x.transitions, x.steps = 0, 0
	if !x.looks || x.over.Load() {
		return
	}
	for i := range x.due {
		x.states.record(x.due[i].at).looked = true
	}
	x.due, x.looks = x.due[:0], false
	if x.busy--; x.busy == 0 {
		x.idle.Broadcast()
	}
}

// take finds the next states to expand. It may release the lock for a while.
func (x *worker) take(ctx context.Context) bool {
	for !x.over.Load() {
		switch {
		case x.mayTake():
			if x.unlooked >= lookEvery || ctx.Err() != nil || x.registry.full.Load() {
				x.look(ctx)
				if x.over.Load() {
					break
				}
			}
			x.takeShare()
			return true
		case x.busy > 0:
			x.idle.Wait()
		case len(x.frontier) > 0:
			x.level = x.frontier[0].rank
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
	return len(x.frontier) > 0 && (!x.states.byDepth || x.frontier[0].rank <= x.level)
}

// takeShare takes a fair share of the next states: one, if no other worker wants the lock.
func (x *worker) takeShare() {
	share := 1
	if len(x.workers) > 1 {
		share = min(mostDue, 1+len(x.frontier)/(4*len(x.workers)))
	}
	for ; share > 0 && x.mayTake(); share-- {
		at := x.frontier.take()
		x.unlooked++
		if r := x.states.record(at); !r.covered {
			x.due = append(x.due, due{at, x.states.state(at), r.depth})
		}
	}
	x.looks = true
	x.busy++
}

// mostDue is how many states a worker takes at once.
const mostDue = 16

// lookEvery is the number of states between two looks.
const lookEvery = 1 << 8

// look reports progress, and ends the search if it has gone far enough.
func (x *search) look(ctx context.Context) {
	x.unlooked = 0
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
