// This file judges calls: their outcomes, and that every call and callback ends with the member.

package shell

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// calls notes a call of the elector that may have to wait.
func (j *judge) calls(m *member, what string) (returned func(err error)) {
	c := &call{what: what, at: time.Now()}
	j.mu.Lock()
	defer j.mu.Unlock()
	m.waiting[c] = struct{}{}
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(m.waiting, c)
		if what != "Heard" && what != "Report" && !m.process.dead {
			j.note("%s: %s: %v", m.name, what, err)
		}
	}
}

// hurries notes when the context of a call ends, because the call must end then, too.
func (j *judge) hurries(ctx context.Context, m *member, what string) (forget func()) {
	c := &call{what: what + ", whose context has ended"}
	stop := context.AfterFunc(ctx, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		c.at = time.Now()
		m.waiting[c] = struct{}{}
	})
	return func() {
		stop()
		j.mu.Lock()
		defer j.mu.Unlock()
		c.what = ""
		delete(m.waiting, c)
	}
}

// lateCall names a call that should have returned; empty if there is none.
func (m *member) lateCall(now time.Time) string {
	for c := range m.waiting {
		patience := time.Duration(0)
		switch c.what {
		case "": // it has returned
			continue
		case "Heard", "Report":
		case "Resign":
			patience = 4 * m.detection()
		default:
			if !strings.HasPrefix(c.what, "TransferLeadership(") {
				break
			}
			if m.shown.Role != memberstate.Leader || !m.shownAt.Before(c.at) {
				continue // it waits for the successor, which may take long
			}
			patience = 4 * m.detection()
		}
		if now.Sub(c.at) > patience && m.process.busy.freeFor(c.at) > patience && m.process.busy.noneSince(now.Add(-1)) {
			return c.what
		}
	}
	return ""
}

// ordered notes an order to hand over to a node, or to any voter.
func (j *judge) ordered(m *member, to string) (withdraw func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m.orders[to]++
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if m.orders[to]--; m.orders[to] == 0 {
			delete(m.orders, to)
		}
	}
}

// leaves notes that the member is about to be stopped, and may hand over to any voter.
func (j *judge) leaves(m *member) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m.leaving = true
}

// campaigns notes that the member is told to stand, and rests no more. It returns the
// revision of its status if nothing keeps it from standing at once, and 0 if something may:
// a promise that it has ever made, its own lease, a Lead that runs, that it is not able, or a cause that holds it up.
func (j *judge) campaigns(m *member) (follows uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m.rest, m.told = time.Time{}, time.Now()
	s := j.groups[m.group.name].seats[m.process.node.index]
	bound := m.leases || s.saved == nil || s.saved.Promise > 0 || m.office != nil || m.falters()
	if m.shown.Role != memberstate.Follower || m.shown.Stopped || bound || !m.process.busy.noneSince(time.Now().Add(-1)) {
		return 0
	}
	return m.shown.Revision
}

// campaigned checks that a member follows no more after an order to stand.
func (j *judge) campaigned(m *member, follows uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if follows > 0 && !m.process.dead && m.process.busy.noneSince(time.Now().Add(-2)) {
		j.holds(Prompt, m.shown.Revision > follows, m.name, "it was ordered to stand and nothing prevents that, but it still follows %s", m.shown.Leader)
	}
}

// transferred checks the outcome of an order to hand over.
func (j *judge) transferred(m *member, before *elector.Status, to string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil || m.process.dead || to == m.process.node.name || before.Role != memberstate.Leader {
		return
	}
	h, s := j.groups[m.group.name], m.el.Status()
	j.holds(OrdersTold, s.Term > before.Term, m.name, "its handover in term %d is reported as a success, but it is in term %d", before.Term, s.Term)
	heir := false
	for term, led := range h.leaders {
		heir = heir || term > before.Term && led.node != m.process.node.name && (to == "" || led.node == to)
	}
	j.holds(NamedHeir, heir, m.name, "its handover to %q in term %d is reported as a success, but %q leads no later term", to, before.Term, to)
}

// resigned checks the outcome of a resignation.
func (j *judge) resigned(ctx context.Context, m *member, before *elector.Status, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if m.process.dead {
		return
	}
	s := m.el.Status()
	leads := before.Role == memberstate.Leader && s.Role == memberstate.Leader && s.Term == before.Term
	switch {
	case err == nil:
		j.holds(OrdersTold, !leads, m.name, "it has resigned, but still leads term %d", s.Term)
	case errors.Is(err, elector.ErrNotLeader), errors.Is(err, elector.ErrStopped):
		j.holds(OrdersTold, true, m.name, "")
	default:
		j.holds(OrdersTold, ctx.Err() != nil && errors.Is(err, ctx.Err()), m.name, "its resignation has failed: %v", err)
	}
}

// reported checks a report, which is made at once.
func (j *judge) reported(m *member, began time.Time, r *elector.Report, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if m.process.dead {
		return
	}
	j.holds(Prompt, time.Since(began) == 0 || !m.process.busy.noneSince(began), m.name, "a report took %v although nothing had held it up", time.Since(began))
	j.holds(LeaseOver, err != nil || r.Lease == 0 || r.Role == memberstate.Leader, m.name, "it reports a lease of %v and does not lead", r.Lease)
}

// watched checks a status that Watch yields.
func (j *judge) watched(m *member, last, s *elector.Status) {
	j.check(Watched, s.Revision > last.Revision && !last.Stopped, m.name, "Watch yields revision %d after %d", s.Revision, last.Revision)
}

// watchedAll checks that Watch has ended for the right reason.
func (j *judge) watchedAll(m *member, last *elector.Status) {
	j.check(Watched, last.Stopped, m.name, "Watch has ended before the member has stopped, at %+v", last)
}

// watchedByHost judges a status that Host.Watch yields.
func (j *judge) watchedByHost(p *process, s *elector.Status) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := p.members[s.Group]
	if m == nil {
		j.holds(Watched, p.dead, p.node.name, "Host.Watch yields %q, which has not joined", s.Group)
		return
	}
	shown := m.el.Status()
	if s.Revision > shown.Revision || s.Stopped && !shown.Stopped {
		return // it is that of a member that has ended
	}
	j.holds(Watched, s.Revision >= m.atHost, m.name, "Host.Watch yields revision %d after %d", s.Revision, m.atHost)
	m.atHost = s.Revision
}

// ended checks that no callback runs and no call waits once a member is done.
func (j *judge) ended(m *member, started error) {
	j.mu.Lock()
	dead := m.process.dead
	m.over = true
	if !dead {
		j.quiet(m, "it is done")
		s, err := m.el.Status(), m.el.Err()
		j.holds(StopWaits, started != nil || s.Stopped, m.name, "it is done, but does not show that it has stopped: %+v", s)
		_, _, held := m.el.Lease()
		j.holds(LeaseOver, !held, m.name, "it is done, but shows a lease")
		handled := m.handler == nil || m.handler.over.Load() || !m.handler.began.Load()
		j.holds(Watched, handled, m.name, "it is done, but its handler was not shut down")
		told := started != nil || err != nil || !m.failing || m.leaving
		j.holds(OrdersTold, told, m.name, "a save has failed, but it has ended without an error")
		if err != nil {
			j.met[Failed]++
			j.note("%s: has failed: %v", m.name, err)
			j.holds(OrdersTold, m.failing || m.process.fails(), m.name, "it has failed although its disk has not: %v", err)
		}
	}
	j.mu.Unlock()
	settle()
	j.mu.Lock()
	defer j.mu.Unlock()
	for c := range m.waiting {
		j.holds(CallsEnd, c.what == "", m.name, "it is done, but %s still waits", c.what)
	}
	if m.seen.Load() > 0 {
		j.holds(Watched, m.seen.Load() == m.el.Status().Revision, m.name, "it is done, but Watch has not yielded its last status")
	}
	j.holds(Watched, m.process.dead || m.process.lags.Load() || m.atHost == m.el.Status().Revision, m.name, "it is done, but Host.Watch has not yielded its last status")
}

// quiet checks that no callback of a member runs.
func (j *judge) quiet(m *member, why string) {
	for what, n := range m.calling {
		j.holds(StopWaits, n == 0, m.name, "%s, and %s runs", why, what)
	}
}

// stopped checks a member that Stop has stopped. If patient, the context of Stop had not ended:
// then a leader stops only after it has handed over, or could not.
func (j *judge) stopped(m *member, patient bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if m.process.dead {
		return
	}
	j.quiet(m, "Stop has returned")
	j.holds(StopWaits, !patient || !m.abrupt || m.process.fails(), m.name, "it stopped while it led, without a handover")
	j.holds(OrdersTold, m.failing || m.process.fails() || err == nil, m.name, "Stop returns %v, and no save has failed", err)
}

// emptied checks a host whose groups were closed.
func (j *judge) emptied(p *process, patient bool, members []*member) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead {
		return
	}
	for _, m := range members {
		j.quiet(m, "Close has returned")
		j.holds(StopWaits, !patient || !m.abrupt || p.fails(), m.name, "its host was closed while it led, without a handover")
	}
	j.holds(StopWaits, !p.judging, p.node.name, "Close has returned, and Stalled runs")
	j.holds(StopWaits, len(p.host.Electors()) == 0, p.node.name, "its host is closed, but has groups: %d", len(p.host.Electors()))
}

// closed checks that the transport serves a closed host no more.
func (j *judge) closed(p *process) {
	serves := p.tap.serves()
	j.check(StopWaits, !serves || p.isDead(), p.node.name, "its host is closed, but its transport still serves")
}
