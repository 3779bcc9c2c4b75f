// A worker: one goroutine of a search. Each has a model of its own, so that most can be looked up without
// a lock. All share the states, and what was worked out about nodes: the results of steps, the unprompted
// ones, and the successors.

package explore

import (
	"context"
	"time"
)

type worker struct {
	*search
	model              *model
	due                []due  // that it looks at
	looks              bool   // it has taken some, though others may cover all of them
	found              []find // by looking at them
	duplicates         duplicateFilter
	transitions, steps uint64
	now                localKey              // of the node that it asks about
	before             [mostMembers]struct { // in the state that it looks at
		key   localKey
		local *local
	}
}

// due is a state that somebody is to look at.
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

// work looks at states until there are no more, or the search is over.
func (x *worker) work(ctx context.Context) {
	for x.exchange(ctx) {
		for i := range x.due {
			x.expand(&x.due[i])
		}
	}
}

// exchange has what was found kept and asked for what must hold, and finds states that
// nobody has looked at. A worker waits if there is none yet, because others may find one.
func (x *worker) exchange(ctx context.Context) (more bool) {
	x.mu.Lock()
	isNew := x.keep()
	x.mu.Unlock()
	for i := range isNew {
		x.ask(isNew[i].at, &isNew[i].state)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open(isNew)
	x.done()
	return x.take(ctx)
}

// ask asks whether all that must hold of a state does.
func (x *worker) ask(at int32, s *state) {
	if d := x.model.wrong(s); !d.none() {
		x.violated(at, 0, &wrong{defect: d})
	}
}

// keep adds what was found to the states that are known, unless one of them covers it. It
// returns what was new, in the same place. If there are more messages than there is room for,
// what was found may hold one for another, and nothing is kept.
func (x *worker) keep() (isNew []find) {
	isNew = x.found[:0]
	if x.registry.full.Load() {
		return isNew
	}
	x.states.won.join(&x.model.won) // a worker that has found something knows them
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

// open lets states be looked at that were asked.
func (x *worker) open(isNew []find) {
	for i := range isNew {
		x.frontier.add(waiting{isNew[i].rank, isNew[i].at})
	}
	x.found = x.found[:0]
	x.idle.Broadcast()
}

// done is when a worker has looked at its states. When the search is over it may not have
// come to all, so they have not been looked at.
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

// take finds the next states, by which the lock may be given away for a while.
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

// mayTake says whether there is a state that may be looked at. If the nearest comes first, all
// that is as near must have been looked at before what is further.
func (x *search) mayTake() bool {
	return len(x.frontier) > 0 && (!x.states.byDepth || x.frontier[0].rank <= x.level)
}

// takeShare takes the next states, as many as are fair: one, if nobody else wants the lock.
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

// lookEvery is after how many states somebody looks up.
const lookEvery = 1 << 8

// look tells how far the search has come, and ends it if it has come far enough.
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
