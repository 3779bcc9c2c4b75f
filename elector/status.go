// What a member is, as others may see it at any time.

package elector

import (
	"context"
	"iter"

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
	s := g.status.Load()
	s.lose()
	g.show(s)
}

func (s *Status) lose() {
	if s.Role == memberstate.Leader {
		s.Role, s.Leader = memberstate.Candidate, ""
	}
}

func (g *group) show(s Status) {
	s, _ = g.status.Update(func(old Status) (Status, bool) {
		s.Revision = old.Revision + 1
		return s, true
	})
	if f := g.host.metrics.Changed; f != nil {
		f(s)
	}
}

// Status is what the member is now. It never waits.
func (e *Elector) Status() Status { return e.group.status.Load() }

// Watch yields what the member is, now and after every change, until the context
// ends or the member has stopped. Between two yields changes may be skipped; the
// latest never is.
func (e *Elector) Watch(ctx context.Context) iter.Seq[Status] {
	return e.group.status.Watch(ctx, func(s Status) bool { return s.Stopped })
}
