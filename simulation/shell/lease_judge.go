// This file has the judge of a world of leases. It calls only Status and Lease of an elector, as
// users may, sees every statement that reaches the database, and reads the records there.

package shell

import (
	"context"
	"errors"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// leaseJudge is the judge of one world of leases. mu guards all its fields.
type leaseJudge struct {
	book
	world   *leaseWorld
	winners map[string]map[memberstate.Term]string // by lease: the holder to which the database gave each term
	led     map[string]map[memberstate.Term]bool   // by lease: the terms for which Lead was called
}

// standing holds the judge's knowledge of a contender. The judge's mu guards it.
type standing struct {
	over     bool           // Run has returned
	leaving  bool           // its Run must return
	calling  map[string]int // callbacks that run
	ordered  map[*order]struct{}
	office   *tenancy         // the Lead that runs
	inCharge memberstate.Term // the last term that Lead was called for
	early    memberstate.Term // the term in which Lead returned by itself
	held     memberstate.Term // the largest term whose lease was seen
	lapsed   memberstate.Term // the largest term whose lease is over
	until    time.Time        // the latest end of a lease that was seen
	released memberstate.Term // the largest term whose lease it tried to release
	given    memberstate.Term // the largest term whose lease it learned to be released, ...
	givenAt  time.Time        // ... and when
}

// order is a call of Resign.
type order struct{ ctx context.Context }

func newLeaseJudge(seed uint64, w *leaseWorld, live func(string)) *leaseJudge {
	j := &leaseJudge{world: w, winners: map[string]map[memberstate.Term]string{}, led: map[string]map[memberstate.Term]bool{}}
	j.open(seed, live)
	for _, g := range w.plan.groups {
		j.named = append(j.named, g.name)
		j.winners[g.name], j.led[g.name] = map[memberstate.Term]string{}, map[memberstate.Term]bool{}
	}
	return j
}

// meets counts a condition.
func (j *leaseJudge) meets(c Condition) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.met[c]++
}

// leaseDies cuts the process off from everything.
func (j *leaseJudge) leaseDies(c *candidate) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !c.dead {
		c.dead = true
		close(c.died)
	}
}

// contenderOf is a process's contender for a lease; nil if none takes part.
func (j *leaseJudge) contenderOf(c *candidate, group string) *contender {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e := c.contenders[group]; e != nil && !e.over && !c.dead {
		return e
	}
	return nil
}

func (j *leaseJudge) contendersOf(c *candidate) (list []*contender) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range c.contenders {
		list = append(list, e)
	}
	return list
}

// contends notes that a lease has joined a keeper, which must have forgotten its last contender.
func (j *leaseJudge) contends(e *contender, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.holds(StopWaits, err == nil, e.name, "it cannot join: %v", err)
	e.calling, e.ordered = map[string]int{}, map[*order]struct{}{}
	if err == nil {
		e.candidate.contenders[e.group.name] = e
		e.candidate.running++
	}
}

// asks notes a call of the store, or of the waker.
func (j *leaseJudge) asks(ctx context.Context, c *candidate, bounded bool) (over func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	end, ends := ctx.Deadline()
	in := time.Until(end)
	j.holds(CallsEnd, !bounded || ends && in > 0 && in <= c.node.timing.Timeout, c.node.name, "a call has a deadline in %v (set: %t)", in, ends)
	j.holds(StopWaits, c.running > 0 || c.dead, c.node.name, "the database is asked when no elector runs")
	c.calls++
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		c.calls--
	}
}

// logs notes a line of the log.
func (j *leaseJudge) logs(c *candidate, line string) (over func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.note("%s: %s", c.node.name, line)
	if c.visits > 0 {
		return func() {}
	}
	c.logging++
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		c.logging--
	}
}

// visits notes a call of the world that may log.
func (j *leaseJudge) visits(c *candidate) (over func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c.visits++
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		c.visits--
	}
}

// won notes that the database gave a term to a holder.
func (j *leaseJudge) won(name string, term memberstate.Term, holder string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.winners[name][term]
	j.holds(OneLeader, before == "", "n* "+name, "term %d was given to %s and to %s", term, before, holder)
	j.winners[name][term] = holder
}

// releases checks a lease that is about to be released.
func (j *leaseJudge) releases(c *candidate, held lease.Held) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := c.contenders[held.Name]
	if c.dead || e == nil {
		return
	}
	j.holds(ReleasedAfter, e.office == nil || e.office.term != held.Term, e.name, "term %d is released while its Lead runs", held.Term)
	term, until, ok := e.el.Lease()
	j.holds(ReleasedAfter, !ok || term != held.Term, e.name, "term %d is released while its lease is shown until %v", held.Term, until)
	e.released, e.lapsed = max(e.released, held.Term), max(e.lapsed, held.Term)
}

// calls notes that a callback runs.
func (j *leaseJudge) calls(e *contender, what string) (over func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.holds(StopWaits, !e.over || e.candidate.dead, e.name, "%s is called when Run has returned", what)
	e.calling[what]++
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		e.calling[what]--
	}
}

// serves notes that Lead was called.
func (j *leaseJudge) serves(ctx context.Context, e *contender, term memberstate.Term) (over func()) {
	done := j.calls(e, "Lead")
	j.mu.Lock()
	defer j.mu.Unlock()
	if !e.candidate.dead {
		name, self := e.group.name, e.candidate.keeper.Self()
		j.note("%s: leads term %d", e.name, term)
		j.met[LeadServed]++
		j.holds(LeadOnce, e.office == nil && term > e.inCharge && !j.led[name][term], e.name, "Lead is called for term %d, after term %d", term, e.inCharge)
		j.holds(OneLeader, j.winners[name][term] == self, e.name, "Lead is called for term %d, which was given to %q", term, j.winners[name][term])
		j.holds(LeadInOffice, !e.observer, e.name, "an observer leads")
		j.led[name][term] = true
		e.office, e.inCharge = &tenancy{term, ctx}, term
	}
	return func() {
		j.mu.Lock()
		e.office = nil
		j.mu.Unlock()
		done()
	}
}

// returnsEarly notes that Lead is about to return by itself.
func (j *leaseJudge) returnsEarly(ctx context.Context, e *contender, term memberstate.Term) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ctx.Err() == nil && !e.candidate.dead {
		j.strikes[LeadReturns]++
		e.early = term
	}
}

// toldOf compares a status that Watch or a handler receives with the last one.
func (j *leaseJudge) toldOf(e *contender, last, s *elector.Status) {
	j.mu.Lock()
	defer j.mu.Unlock()
	self := e.candidate.keeper.Self()
	j.holds(Watched, s.Revision > last.Revision || last.Group == "", e.name, "revision %d is received after %d", s.Revision, last.Revision)
	j.holds(Watched, s.Group == e.group.name && s.Self == self, e.name, "the status is that of %q in %q", s.Self, s.Group)
	j.holds(TermsGrow, s.Term >= last.Term, e.name, "term %d is received after %d", s.Term, last.Term)
	j.holds(Watched, (s.Role == memberstate.Leader) == (s.Leader == self), e.name, "it is shown as %v with %q as the leader", s.Role, s.Leader)
}

// toldAll checks the last status that Watch or a handler has received.
func (j *leaseJudge) toldAll(e *contender, last *elector.Status, who string) {
	now := e.el.Status()
	j.check(Watched, *last == now && now.Stopped, e.name, "the last status that %s received is %+v, but the status is %+v", who, *last, now)
}

// orders notes an order to resign, and checks its outcome.
func (j *leaseJudge) orders(ctx context.Context, e *contender) (over func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	o := &order{ctx}
	e.ordered[o] = struct{}{}
	j.strikes[ResignOrder]++
	before, _, led := e.el.Lease()
	calm := j.world.isCalm()
	// It has nothing to give up if the lease of its last office was given back before.
	charge, idle := e.inCharge, !led && e.office == nil && e.given > 0 && e.given == e.inCharge && e.givenAt.Before(time.Now())
	j.note("%s: is to resign", e.name)
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(e.ordered, o)
		if e.candidate.dead {
			return
		}
		now, _, leads := e.el.Lease()
		stays := led && leads && now == before
		serves := led && e.office != nil && e.office.term == before
		switch {
		case err == nil:
			j.met[Resigned]++
			j.holds(OrdersTold, !stays && !serves, e.name, "it has resigned in term %d, but holds the lease: %t, its Lead runs: %t", before, stays, serves)
			j.holds(OrdersTold, !idle || e.inCharge != charge, e.name, "it resigned although it had given back the lease of its last term %d before", charge)
			kept := led && e.released >= before && j.unreleased(e, before)
			j.holds(OrdersTold, !kept, e.name, "it has resigned in term %d, but the lease could not be released", before)
		case errors.Is(err, elector.ErrStopped):
			j.holds(OrdersTold, e.leaving || e.running.Err() != nil, e.name, "it reports that it was stopped, but nobody stopped it")
		case errors.Is(err, elector.ErrNotLeader):
			j.holds(OrdersTold, !stays, e.name, "it reports that it does not lead, but holds the lease of term %d", before)
		case ctx.Err() == nil:
			j.met[NotReleased]++
			j.holds(OrdersTold, !calm && !stays && !serves, e.name, "its resignation fails without faults, or it still leads: %v", err)
		}
	}
}

// unreleased says whether a contender holds the lease of a term in the database.
func (j *leaseJudge) unreleased(e *contender, term memberstate.Term) bool {
	r := j.world.database.now(e.group.name)
	return r.Holder == e.candidate.keeper.Self() && r.Term == term && !r.Released
}

// gaveBack notes that a candidate learns that its lease is released.
func (j *leaseJudge) gaveBack(c *candidate, held lease.Held) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e := c.contenders[held.Name]; e != nil && held.Term > e.given {
		e.given, e.givenAt = held.Term, time.Now()
	}
}

// ran checks a contender whose Run has returned.
func (j *leaseJudge) ran(e *contender, err error) {
	s := e.el.Status()
	_, _, shown := e.el.Lease()
	j.mu.Lock()
	defer j.mu.Unlock()
	c := e.candidate
	e.over = true
	c.running--
	if c.dead {
		return
	}
	j.note("%s: has ended", e.name)
	j.holds(OrdersTold, err == nil && e.running.Err() != nil, e.name, "Run returns by itself, or an error: %v", err)
	for what, n := range e.calling {
		j.holds(StopWaits, n == 0, e.name, "Run has returned while %s still runs", what)
	}
	j.holds(StopWaits, s.Stopped && s.Role != memberstate.Leader && !shown, e.name, "Run has returned, but its status is %+v, with a lease: %t", s, shown)
	kept := e.released < e.inCharge && time.Now().Before(e.until) && j.unreleased(e, e.inCharge)
	j.holds(StopWaits, !kept, e.name, "Run has returned, and nobody has tried to give the lease of term %d back", e.inCharge)
	if e.inCharge > 0 && e.inCharge == e.released {
		j.met[StoppedLeading]++
	}
	j.holds(StopWaits, c.running > 0 || c.calls == 0, c.node.name, "the database receives a statement although no elector runs")
	j.holds(StopWaits, c.running > 0 || c.logging == 0, c.node.name, "no elector runs, and something is logged")
}
