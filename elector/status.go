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
	// LastLeader is the leader that this member last took for gone, and Departure why;
	// empty if there was none since it started.
	LastLeader string
	Departure  Departure
}

// sight is what changes of a Status, as the machine has it.
type sight struct {
	term         memberstate.Term
	revision     uint64
	role         memberstate.Role
	leader, vote memberstate.Seat
	stopped      bool
	last         memberstate.Seat
	departure    Departure
}

// full is the Status of a sight.
func (g *group) full(s sight) Status {
	return Status{
		Group: g.name, Self: g.host.config.Self, Role: s.role, Term: s.term,
		Leader: g.members.ID(s.leader), Vote: g.members.ID(s.vote), Revision: s.revision, Stopped: s.stopped,
		LastLeader: g.members.ID(s.last), Departure: s.departure,
	}
}

// publish shows what the machine is now: what it has saved, so that no restart can
// take anything of it back. If it took its leader for gone, it shows why.
func (g *group) publish(why Departure) {
	m := &g.machine
	g.show(sight{term: m.Term, role: m.Role, leader: m.Leader, vote: m.Vote}, why)
}

// publishEnd shows that this member has stopped, and leads nothing. The machine may
// be ahead of the disk then, for ever: all that is known to be durable is what was
// published before.
func (g *group) publishEnd() {
	s, why := g.sight.Load(), Departure(0)
	if s.role == memberstate.Leader {
		s.lose()
		why = DepartedResigned
	}
	s.stopped = true
	g.show(s, why)
}

// publishLoss shows that this member leads no more, before it is known what it
// is instead.
func (g *group) publishLoss(why Departure) {
	s := g.sight.Load()
	s.lose()
	g.show(s, why)
}

func (s *sight) lose() {
	if s.role == memberstate.Leader {
		s.role, s.leader = memberstate.Candidate, memberstate.Nobody
	}
}

func (g *group) show(s sight, why Departure) {
	s, _ = g.sight.Update(func(old sight) (sight, bool) {
		s.revision, s.last, s.departure = old.revision+1, old.last, old.departure
		if why != 0 {
			s.last, s.departure = old.leader, why
		}
		return s, true
	})
	if f := g.host.metrics.Changed; f != nil {
		f(g.full(s))
	}
}

func (g *group) status() Status { return g.full(g.sight.Load()) }

func (g *group) watch(ctx context.Context) iter.Seq[Status] {
	return func(yield func(Status) bool) {
		for s := range g.sight.Watch(ctx, func(s sight) bool { return s.stopped }) {
			if !yield(g.full(s)) {
				return
			}
		}
	}
}

// Status is what the member is now. It never waits.
func (e *Elector) Status() Status { return e.group.status() }

// Watch yields what the member is, now and after every change, until the context
// ends or the member has stopped. Between two yields changes may be skipped; the
// latest never is.
func (e *Elector) Watch(ctx context.Context) iter.Seq[Status] {
	return e.group.watch(ctx)
}
