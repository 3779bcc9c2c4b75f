// A member's status, which any goroutine may read at any time.

package elector

import (
	"context"
	"fmt"
	"iter"
	"log/slog"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Status is the state of a member at one moment.
type Status struct {
	// Group and Self name the group and this member.
	Group, Self string
	Role        memberstate.Role
	Term        memberstate.Term
	// Leader leads Term as far as this member knows; empty if it knows none.
	Leader string
	// Vote is the candidate that this member voted for in Term; empty if it has not voted.
	Vote string
	// Revision grows with every change.
	Revision uint64
	// Stopped says that the member no longer takes part. It is the last change.
	Stopped bool
	// LastLeader is the leader that this member stopped following most recently, or the member
	// itself if it led; Departure is the reason. Empty if there was none since it started.
	LastLeader string
	Departure  Departure
	// Inability is why this member is not able to lead; zero if it is able. It then leads only if
	// no other member can.
	Inability Inability
}

// String returns the status in one line, as in
//
//	"n1" in "orders": follower of "n0" in term 7, voted for "n0"
func (s Status) String() string {
	text := fmt.Sprintf("%q in %q: %v", s.Self, s.Group, s.Role)
	if s.Leader != "" && s.Leader != s.Self {
		text += fmt.Sprintf(" of %q", s.Leader)
	}
	if s.Inability != protocol.Able {
		text += fmt.Sprintf(" (not able: %v)", s.Inability)
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

// Show publishes a view.
func (e *engine) Show(v protocol.View) {
	h, before := e.Host(), e.view.Load()
	(*Elector)(e).show(v)
	h.watchers.tell((*Elector)(e))
	logs := !v.Stopped && v != before.View && h.log.Enabled(context.Background(), slog.LevelInfo)
	if h.metrics.Changed == nil && !logs {
		return
	}
	s := (*Elector)(e).Status()
	if f := h.metrics.Changed; f != nil {
		f(s)
	}
	if logs {
		h.log.Info("role", "group", s.Group, "term", uint64(s.Term), "role", s.Role.String(), "leader", s.Leader, "vote", s.Vote,
			"last_leader", s.LastLeader, "departure", s.Departure.String(), "ability", s.Inability.String())
	}
}

func (e *Elector) status(s *numberedView) Status {
	members := e.group.Members
	return Status{
		Group: e.group.Name(), Self: e.Host().config.Self, Role: s.Role, Term: s.Term,
		Leader: members.ID(s.Leader), Vote: members.ID(s.Vote), Revision: s.revision, Stopped: s.Stopped,
		LastLeader: members.ID(s.Last), Departure: s.Departure, Inability: s.Inability,
	}
}

// Status returns the member's status. It never waits.
func (e *Elector) Status() Status { return e.status(e.view.Load()) }

// Watch yields the member's status, now and after every change, until the context
// ends or the member has stopped. A slow reader skips changes, but never the latest.
func (e *Elector) Watch(ctx context.Context) iter.Seq[Status] {
	return func(yield func(Status) bool) {
		for {
			v := e.view.Load()
			if ctx.Err() != nil || !yield(e.status(v)) || v.Stopped || !e.awaitOther(ctx, v) {
				return
			}
		}
	}
}
