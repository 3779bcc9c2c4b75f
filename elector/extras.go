// What most groups do not have, or not for long.

package elector

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
)

// extras are made when a group first needs any of them, and let go when it needs
// none. They belong to the loop, but for the atomic fields.
type extras struct {
	lead     func(ctx context.Context, term memberstate.Term) error // nil: there is none
	pause    func(ctx context.Context, term memberstate.Term) error // nil: there is none
	handlers []RoleHandler                                          // until the group has started

	office   atomic.Pointer[office.Office]
	lease    atomic.Pointer[office.Lease]
	served   memberstate.Term // the last term that lead was called for
	pausing  *pauseJob        // the handover for which writes are paused
	orders   []*order         // to hand over, that stand
	attempt  *attempt         // the handover under way
	queue    []pending        // what has happened while a step waits
	messages int              // how many of it have arrived from others
}

// needless says that a group might as well have no extras.
func (x *extras) needless() bool {
	return x.lead == nil && x.pause == nil && x.handlers == nil && x.office.Load() == nil && x.lease.Load() == nil &&
		x.pausing == nil && x.attempt == nil && len(x.orders) == 0 && len(x.queue) == 0
}

// extras are the group's, made if it has none. The loop does not keep them over a
// step, after which they may have been let go; those with a lead or a pause stay.
func (g *group) extras() *extras {
	x := g.extra.Load()
	if x == nil {
		x = new(extras)
		g.extra.Store(x)
	}
	return x
}

// tidy lets extras go that are not needed any more.
func (g *group) tidy() {
	if x := g.extra.Load(); x != nil && x.needless() {
		g.extra.Store(nil)
	}
}

// office is the one that is open, if any. Anyone may ask.
func (g *group) office() *office.Office {
	if x := g.extra.Load(); x != nil {
		return x.office.Load()
	}
	return nil
}

// lease is the one that the group holds, if any. Anyone may ask.
func (g *group) lease() *office.Lease {
	if x := g.extra.Load(); x != nil {
		return x.lease.Load()
	}
	return nil
}

// queued is how much waits for the step under way, and how many messages are among it.
func (g *group) queued() (all, messages int) {
	if x := g.extra.Load(); x != nil {
		return len(x.queue), x.messages
	}
	return 0, 0
}

// add keeps an input until the step under way is done. Messages are bounded by who
// delivers them. Of everything else there are few kinds, each order belongs to a
// caller who waits, and what is the same is kept once: to hear twice of one leader, or
// to be told twice to stand, changes no more than once does.
func (x *extras) add(p *pending) {
	if p.Input.Kind == Receive {
		x.messages++
	} else if i := slices.IndexFunc(x.queue, p.isSame); i >= 0 {
		x.queue[i].then = both(x.queue[i].then, p.then)
		return
	}
	x.queue = append(x.queue, *p)
}

// isSame says whether the two are one input, which nobody ordered.
func (p *pending) isSame(other pending) bool {
	return p.Input == other.Input && p.order == nil && other.order == nil
}

// both calls two functions, of which any may be nil.
func both(first, second func()) func() {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func() {
		first()
		second()
	}
}

// next takes what has waited longest.
func (x *extras) next() pending {
	first := x.queue[0]
	if first.Input.Kind == Receive {
		x.messages--
	}
	x.queue = x.queue[1:]
	if len(x.queue) == 0 {
		x.queue = nil
	}
	return first
}
