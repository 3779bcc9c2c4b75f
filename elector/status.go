// What a member is, as others may see it at any time.

package elector

import (
	"context"
	"fmt"
	"iter"

	"github.com/hustings/hustings/elector/protocol"
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

// String is the status in one line, as in
//
//	"n1" in "orders": follower of "n0" in term 7, voted for "n0"
func (s Status) String() string {
	text := fmt.Sprintf("%q in %q: %v", s.Self, s.Group, s.Role)
	if s.Leader != "" && s.Leader != s.Self {
		text += fmt.Sprintf(" of %q", s.Leader)
	}
	text += fmt.Sprintf(" in term %d", s.Term)
	if s.Vote != "" {
		text += fmt.Sprintf(", voted for %q", s.Vote)
	}
	if s.LastLeader != "" {
		text += fmt.Sprintf(", last leader %q (%v)", s.LastLeader, s.Departure)
	}
	if s.Stopped {
		text += ", stopped"
	}
	return text
}

// sight is what a member shows, with the number of the change.
type sight struct {
	protocol.View
	revision uint64
}

// Show has everybody see what the member is.
func (e *engine) Show(v protocol.View) {
	h, before := e.Host(), e.sight.Load()
	e.sight.Update(func(old sight) (sight, bool) { return sight{v, old.revision + 1}, true })
	s := (*Elector)(e).Status()
	if f := h.metrics.Changed; f != nil {
		f(s)
	}
	if !v.Stopped && v != before.View {
		h.log.Info("role", "group", s.Group, "term", uint64(s.Term), "role", s.Role.String(), "leader", s.Leader, "vote", s.Vote,
			"last_leader", s.LastLeader, "departure", s.Departure.String())
	}
}

// status is the Status of a sight.
func (e *Elector) status(s sight) Status {
	members := e.group.Members
	return Status{
		Group: e.group.Name(), Self: e.Host().config.Self, Role: s.Role, Term: s.Term,
		Leader: members.ID(s.Leader), Vote: members.ID(s.Vote), Revision: s.revision, Stopped: s.Stopped,
		LastLeader: members.ID(s.Last), Departure: s.Departure,
	}
}

// Status is what the member is now. It never waits.
func (e *Elector) Status() Status { return e.status(e.sight.Load()) }

// Watch yields what the member is, now and after every change, until the context
// ends or the member has stopped. Between two yields changes may be skipped; the
// latest never is.
func (e *Elector) Watch(ctx context.Context) iter.Seq[Status] {
	return func(yield func(Status) bool) {
		for s := range e.sight.Watch(ctx, func(s sight) bool { return s.Stopped }) {
			if !yield(e.status(s)) {
				return
			}
		}
	}
}
