// This file judges offices: when Lead and Pause run, and which promises cover a lease.

package shell

import (
	"context"
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// called counts a callback that runs. None may begin once the member has ended.
func (j *judge) called(m *member, what string) (returned func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.holds(StopWaits, !m.over || m.process.dead, m.name, "%s is called after its end", what)
	m.calling[what]++
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		m.calling[what]--
	}
}

// handled checks the order of a handler's calls.
func (j *judge) handled(m *member, holds bool, what string) {
	j.check(Watched, holds, m.name, "%s", what)
}

// leads checks that a Lead may begin, and notes its end.
func (j *judge) leads(ctx context.Context, m *member, term memberstate.Term) (returned func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if m.process.dead {
		return func() {}
	}
	h := j.groups[m.group.name]
	j.met[LeadServed]++
	j.note("%s: Lead of term %d begins", m.name, term)
	j.holds(LeadOnce, m.office == nil, m.name, "Lead of term %d is called while another one runs", term)
	j.holds(LeadOnce, term > m.inCharge, m.name, "Lead is called for term %d after term %d", term, m.inCharge)
	j.namesLeader(h, m.name, term, m.process.node.name, m.id)
	for i, c := range h.commits {
		if c.in < term {
			mine := m.ledger.all()
			j.holds(CommittedStays, i < len(mine) && mine[i] == c.entry, m.name, "it leads term %d and does not have entry %d, which was committed in term %d", term, i+1, c.in)
		}
	}
	// The role may change meanwhile, but then the context ends first.
	s := m.el.Status()
	leads := s.Role == memberstate.Leader && s.Term == term
	j.holds(LeadInOffice, leads || ctx.Err() != nil, m.name, "Lead of term %d begins while it is %v of term %d", term, s.Role, s.Term)
	o := &tenancy{term, ctx}
	m.office, m.inCharge = o, term
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.note("%s: Lead of term %d returns", m.name, term)
		if m.office == o {
			m.office = nil
		}
	}
}

// leadReturns notes that a Lead is about to return by itself.
func (j *judge) leadReturns(m *member, term memberstate.Term) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.strikes[LeadReturns]++
	m.early, m.earlyAt = term, time.Now()
}

// pauses notes a call of Pause.
func (j *judge) pauses(ctx context.Context, m *member, term memberstate.Term) (returned func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !m.process.dead {
		j.met[WritesPaused]++
		j.note("%s: Pause for term %d", m.name, term)
		m.pausing = append(m.pausing, &pausing{term, ctx, time.Now()})
		j.namesLeader(j.groups[m.group.name], m.name, term, m.process.node.name, m.id)
	}
	return func() {}
}

// commits notes the entries that a quorum has in its ledgers. They must never change again.
func (j *judge) commits(m *member, term memberstate.Term, entries []entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.groups[m.group.name]
	known := min(len(h.commits), len(entries))
	for i := range known {
		if !j.holds(CommittedStays, h.commits[i].entry == entries[i], m.name, "entry %d is committed in term %d, and another one was in term %d", i+1, term, h.commits[i].in) {
			return
		}
	}
	for _, e := range entries[known:] {
		j.met[Committed]++
		h.commits = append(h.commits, commit{e, term})
	}
}

// lease checks a member's lease, and returns its term; 0 if it holds none.
func (j *judge) lease(m *member) memberstate.Term {
	term, until, held := m.el.Lease()
	if m.held != 0 && (!held || term != m.held) {
		m.lapsed = max(m.lapsed, m.held)
		m.held = 0
	}
	if !held {
		return 0
	}
	j.met[LeaseHeld]++
	m.held = term
	now := time.Now()
	j.holds(LeaseOver, m.leases, m.name, "it shows a lease and was configured without")
	j.holds(LeaseOver, until.After(now), m.name, "it shows a lease that has ended %v ago", now.Sub(until))
	j.holds(LeaseOver, term > m.lapsed, m.name, "it shows a lease of term %d again, which was over", term)
	covered := m.covered
	if m.group.quorum() == 1 {
		covered = now
	}
	end := covered.Add(m.detection() - m.timing.DriftMargin)
	j.holds(LeaseCovered, !until.After(end), m.name, "it shows a lease of term %d that lasts %v longer than a quorum has promised", term, until.Sub(end))
	return term
}

// leases checks all leases of a group. No two may be valid at one time. If the first one is still
// held after the second was seen, both were held when the second was seen.
func (j *judge) leases(list []*member) {
	var first *member
	var term memberstate.Term
	for _, m := range list {
		held := j.lease(m)
		j.checked[OneLease]++
		switch {
		case held == 0:
		case first == nil:
			first, term = m, held
		default:
			j.holds(OneLease, j.lease(first) != term, m.name, "it holds a lease of term %d while %s holds one of term %d", held, first.name, term)
		}
	}
}

// look checks all members of all groups. It repeats a check that seems to fail when all goroutines
// have done their work of the moment.
func (j *judge) look(w *world) {
	suspects, doubts := j.suspects(w, nil), j.suspectNodes(w, nil)
	if len(suspects)+len(doubts) == 0 {
		return
	}
	settle()
	j.suspects(w, suspects)
	j.suspectNodes(w, doubts)
}

// suspicion is an invariant that a member seems to violate.
type suspicion struct {
	member    *member
	invariant Invariant
	revision  uint64 // of the status that was shown
}

// suspects lists the violations that seem to be there. One that was suspected before is real.
func (j *judge) suspects(w *world, before []suspicion) (list []suspicion) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, g := range w.plan.groups {
		var there []*member
		for _, n := range w.nodes {
			if p := n.process.Load(); p != nil && !p.dead {
				if m := p.members[g.name]; m != nil && !m.over && m.shown.Revision > 0 {
					there = append(there, m)
				}
			}
		}
		j.leases(there)
		for _, m := range there {
			for _, doubt := range j.doubts(m) {
				s := suspicion{m, doubt.invariant, m.shown.Revision}
				list = append(list, s)
				if slices.Contains(before, s) {
					j.holds(doubt.invariant, false, m.name, "%s", doubt.what)
				}
			}
		}
	}
	return list
}

// suspectNodes does for whole processes what suspects does for members.
func (j *judge) suspectNodes(w *world, before map[*process][]doubt) map[*process][]doubt {
	j.mu.Lock()
	defer j.mu.Unlock()
	found := map[*process][]doubt{}
	for _, n := range w.nodes {
		p := n.process.Load()
		if p == nil || p.dead {
			continue
		}
		for _, d := range j.disservice(p) {
			found[p] = append(found[p], d)
			if slices.Contains(before[p], d) {
				j.holds(d.invariant, false, n.name, "%s", d.what)
			}
		}
	}
	return found
}

type doubt struct {
	invariant Invariant
	what      string
}

// doubts lists the violations of a member that count only if they last beyond this moment.
func (j *judge) doubts(m *member) (list []doubt) {
	add := func(i Invariant, wrong bool, what string) {
		j.checked[i]++
		if wrong {
			list = append(list, doubt{i, what})
		}
	}
	s := m.el.Status()
	now := time.Now()
	leads := s.Role == memberstate.Leader && !s.Stopped
	term, _, held := m.el.Lease()
	served := leads && (!m.leases || held && term == s.Term)
	serving := m.office != nil && m.office.ctx.Err() == nil
	free := m.process.busy.noneSince
	if free(now.Add(-1)) && m.told.Before(now) {
		m.told = time.Time{} // it has handled the order
	}
	add(LeadInOffice, serving && (!served || m.office.term != s.Term), "the context of a Lead has not ended, but the member does not lead that term or holds no lease")
	add(LeadCalled, m.group.lead && served && m.office == nil && m.inCharge < s.Term && free(now.Add(-1)), "it leads, with a lease if it needs one, but Lead is not called")
	owed := m.early == s.Term && leads && m.process.busy.freeFor(m.earlyAt) > 4*m.detection()
	add(LeadGivesUp, owed, "Lead has returned, but the member has not given up its office")
	m.pausing = slices.DeleteFunc(m.pausing, func(p *pausing) bool { return p.ctx.Err() != nil })
	for _, p := range m.pausing {
		add(PauseEnds, m.process.busy.freeFor(p.at) > 3*m.detection(), "Pause's context goes on, long after the handover")
		add(PauseEnds, (!leads || s.Term != p.term) && free(m.shownAt), "Pause's context has not ended, but the member does not lead that term")
	}
	add(Watched, m.seen.Load() != s.Revision && m.seen.Load() > 0, "Watch has not yielded what Status shows")
	add(Watched, m.atHost != s.Revision && !m.process.lags.Load(), "Host.Watch has not yielded what Status shows")
	add(Watched, m.handler != nil && !m.handler.began.Load() && !s.Stopped, "its handler was not called")
	add(Watched, m.shown.Revision != s.Revision, "its metrics have not received what Status shows")
	add(Prompt, !m.owes.IsZero() && now.After(m.owes) && free(m.owes), "it has not answered a heartbeat of its leader")
	add(Prompt, m.owesBeat(now), "its node has not answered a beat of another node")
	late := leads && m.beat == s.Term && now.Sub(m.beatAt) > m.timing.Heartbeat && len(m.group.members) > 1
	add(Prompt, late && free(m.beatAt), "it leads and sends no heartbeats")
	add(CallsEnd, m.lateCall(now) != "", "a call was not withdrawn when its context had ended, or takes too long: "+m.lateCall(now))
	return list
}
