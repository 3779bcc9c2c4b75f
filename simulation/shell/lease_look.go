// This file checks again and again which contenders hold leases, and whether Status and the running
// calls fit them.

package shell

import (
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// suspect is a contender that seems to violate an invariant, but may still change at this moment.
type suspect struct {
	contender *contender
	wrong     func() (Invariant, string) // returns an empty text if nothing is wrong
}

// look checks all contenders.
func (j *leaseJudge) look() {
	j.mu.Lock()
	var all []*contender
	for _, g := range j.world.plan.groups {
		all = append(all, j.lookAt(g)...)
	}
	j.mu.Unlock()
	var suspects []suspect
	for _, e := range all {
		for _, wrong := range []func(*contender) (Invariant, string){j.office, j.shown, j.waits} {
			if _, what := wrong(e); what != "" {
				suspects = append(suspects, suspect{e, func() (Invariant, string) { return wrong(e) }})
			}
		}
	}
	for range 3 { // each time another change may have happened at the same moment
		if len(suspects) == 0 {
			break
		}
		settle()
		var left []suspect
		for _, s := range suspects {
			if _, what := s.wrong(); what != "" {
				left = append(left, s)
			}
		}
		suspects = left
	}
	for _, s := range suspects {
		invariant, what := s.wrong()
		j.check(invariant, what == "", s.contender.name, "%s", what)
	}
}

// lookAt checks the contenders for one lease at one moment. mu is held.
func (j *leaseJudge) lookAt(g *leaseGroup) (all []*contender) {
	var first *contender
	record := j.world.database.now(g.name)
	for _, n := range j.world.nodes {
		c := n.candidate.Load()
		if c == nil || c.dead || c.contenders[g.name] == nil {
			continue
		}
		e := c.contenders[g.name]
		all = append(all, e)
		term, until, ok := e.el.Lease()
		if !ok {
			if e.held > e.lapsed {
				e.lapsed = e.held
				j.met[LeaseLapsed]++
			}
			continue
		}
		j.met[LeaseHeld]++
		j.holds(LeaseOver, until.After(time.Now()), e.name, "the lease of term %d is shown after its end", term)
		j.holds(LeaseOver, term > e.lapsed && !e.over, e.name, "the lease of term %d is shown, which was over", term)
		e.held = max(e.held, term)
		j.holds(OneLease, first == nil, e.name, "it holds the lease of term %d at the same time as %s", term, nameOf(first))
		first = e
		if until.After(e.until) {
			e.until = until
			j.world.work.Go(func() { j.lookAtEnd(e, term, until) })
		}
		j.covered(e, term, time.Until(until), &record)
	}
	return all
}

// lookAtEnd checks a lease at the very moment at which it runs out unless it is renewed. The clock
// alone must end it, even if no goroutine has noticed the end yet.
func (j *leaseJudge) lookAtEnd(e *contender, term memberstate.Term, until time.Time) {
	<-time.After(time.Until(until))
	now, end, ok := e.el.Lease()
	defer j.visits(e.candidate)()
	status := e.el.Status()
	leads := status.Role == memberstate.Leader && status.Term == term
	j.check(LeaseOver, !ok || now != term || end.After(until), e.name, "the lease of term %d is shown at its end", term)
	j.check(LeaseOver, ok || !leads, e.name, "it is shown as the leader of term %d at the end of its lease", term)
}

func nameOf(e *contender) string {
	if e == nil {
		return "nobody"
	}
	return e.name
}

// covered compares a lease with the record in the database. No other candidate can get the lease
// before the record has run out there, or has not changed for a TTL.
func (j *leaseJudge) covered(e *contender, term memberstate.Term, left time.Duration, r *lease.Record) {
	forced := r.Holder == "" && r.Term > term
	mine := r.Holder == e.candidate.keeper.Self() && r.Term == term
	j.holds(LeaseCovered, (mine || forced) && !r.Released, e.name, "it holds the lease of term %d, but the record is %+v", term, *r)
	if !j.world.plan.strict { // in strict mode the database's clock may have stepped
		j.holds(LeaseCovered, left <= r.Left, e.name, "it takes the lease of term %d to last %v, but in the database it lasts %v", term, left, r.Left)
	}
}

// office says how a contender's Lead violates an invariant, if it does.
func (j *leaseJudge) office(e *contender) (Invariant, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.candidate.dead {
		return LeadInOffice, ""
	}
	term, _, ok := e.el.Lease()
	j.checked[LeadInOffice]++
	j.checked[LeadCalled]++
	j.checked[LeadGivesUp]++
	switch o := e.office; {
	case o != nil && o.ctx.Err() == nil && (!ok || term != o.term):
		return LeadInOffice, "its lease has ended, but the context of its Lead has not"
	case o != nil && o.ctx.Err() != nil && ok && term == o.term:
		return LeadInOffice, "the context of its Lead has ended, but its lease has not"
	case ok && e.group.lead && e.inCharge < term:
		return LeadCalled, "it holds the lease, but its Lead was not called"
	case ok && e.early == term:
		return LeadGivesUp, "its Lead has returned, but it still holds the lease"
	}
	return LeadInOffice, ""
}

// shown says how a contender's Status violates an invariant, if it does. Status may log, which
// takes time, so it is called without the lock.
func (j *leaseJudge) shown(e *contender) (Invariant, string) {
	over := j.visits(e.candidate)
	s := e.el.Status()
	over()
	term, _, ok := e.el.Lease()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.checked[LeaseOver]++
	leads := s.Role == memberstate.Leader
	switch {
	case e.candidate.dead:
	case leads && (!ok || s.Term != term):
		return LeaseOver, "it is shown as the leader, but its lease is over"
	case !leads && ok:
		return LeaseOver, "its lease is shown, but it is not shown as the leader"
	}
	return LeaseOver, ""
}

// waits names a call of a contender that should have ended, if there is one.
func (j *leaseJudge) waits(e *contender) (Invariant, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.checked[CallsEnd]++
	for o := range e.ordered {
		switch {
		case e.candidate.dead || e.candidate.busy.freeFor(j.began) == 0: // a slow line of the log may hold the call up
		case o.ctx.Err() != nil:
			return CallsEnd, "Resign goes on though its context has ended"
		case e.over:
			return CallsEnd, "Resign goes on though Run has returned"
		}
	}
	return CallsEnd, ""
}
