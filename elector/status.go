// What a member is, as others may see it at any time: the latest state and a
// way to wait for a later one.

package elector

import (
	"context"
	"iter"
	"sync"

	"github.com/hustings/hustings/memberstate"
)

// Status is what a member is at one moment.
type Status struct {
	// Group and Self name the group and this member.
	Group, Self string
	Role        memberstate.Role
	Term        memberstate.Term
	// Leader leads Term as far as this member knows; empty if it knows none.
	Leader string
	// Vote is whom this member voted for in Term; empty if for nobody.
	Vote string
	// Revision grows with every change.
	Revision uint64
	// Stopped says that the member takes part no more. It is the last change.
	Stopped bool
}

// view is a Status that can be waited on to be replaced.
type view struct {
	Status
	mu       sync.Mutex
	outdated bool
	changed  chan struct{} // closed when outdated; made when first waited on
}

// replaced is closed when there is a newer view.
func (v *view) replaced() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changed == nil {
		v.changed = make(chan struct{})
		if v.outdated {
			close(v.changed)
		}
	}
	return v.changed
}

func (v *view) outdate() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.outdated = true
	if v.changed != nil {
		close(v.changed)
	}
}

// publish shows what the machine is now. A member that has stopped leads nothing.
func (g *group) publish(stopped bool) {
	s := Status{
		Group: g.name, Self: g.host.config.Self,
		Role: g.machine.Role, Term: g.machine.Term,
		Leader: g.members.ID(g.machine.Leader), Vote: g.members.ID(g.machine.Vote),
		Stopped: stopped,
	}
	if stopped {
		s.lose()
	}
	g.show(s)
}

// publishLoss shows that this member leads no more, before it is known what it
// is instead.
func (g *group) publishLoss() {
	s := g.view.Load().Status
	s.lose()
	g.show(s)
}

func (s *Status) lose() {
	if s.Role == memberstate.Leader {
		s.Role, s.Leader = memberstate.Candidate, ""
	}
}

func (g *group) show(s Status) {
	old := g.view.Load()
	s.Revision = old.Revision + 1
	g.view.Store(&view{Status: s})
	old.outdate()
	if f := g.host.metrics.Changed; f != nil {
		f(s)
	}
}

// Status is what the member is now. It never waits.
func (e *Elector) Status() Status { return e.group.view.Load().Status }

// Watch yields what the member is, now and after every change, until the context
// ends or the member has stopped. Between two yields changes may be skipped; the
// latest never is.
func (e *Elector) Watch(ctx context.Context) iter.Seq[Status] {
	return func(yield func(Status) bool) {
		for {
			v := e.group.view.Load()
			if ctx.Err() != nil || !yield(v.Status) || v.Stopped {
				return
			}
			select {
			case <-v.replaced():
			case <-ctx.Done():
				return
			}
		}
	}
}
