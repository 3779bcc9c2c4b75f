// This file judges drains: when they may end, whether the node leads nothing then, what it says of its progress and of
// groups that are stuck, and whether it hands over what others can lead.

package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// draining is a call of Drain.
type draining struct {
	call      *call // in waiting once the call must return
	forget    func() bool
	patiently bool
	before    rpc.NodeState
	serves    int
	protected bool // when it was ordered
	// protections are orders to be protected until then.
	protections int
	running     []*member
}

// drains notes an order to drain.
func (j *judge) drains(ctx context.Context, p *process, patiently bool) *draining {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := &p.service
	d := &draining{call: &call{what: "Drain"}, patiently: patiently, before: v.state, serves: v.serves, protected: v.protected, protections: v.protections, running: j.running(p)}
	v.state, v.since = rpc.Draining, time.Now()
	d.forget = context.AfterFunc(ctx, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if d.call.what != "" {
			d.call.what, d.call.at = "Drain, whose context has ended", time.Now()
			v.waiting[d.call] = struct{}{}
		}
	})
	d.call.at = time.Now()
	v.waiting[d.call] = struct{}{}
	return d
}

// drained checks the outcome of a drain.
func (j *judge) drained(ctx context.Context, p *process, d *draining, err error) {
	d.forget()
	j.mu.Lock()
	defer j.mu.Unlock()
	v := &p.service
	delete(v.waiting, d.call)
	d.call.what = ""
	if p.dead {
		return
	}
	j.note("%s: Drain: %v", p.node.name, err)
	var stuck *elector.StuckError
	switch {
	case err == nil:
		j.met[Drained]++
		j.leadsNothing(p)
	case errors.As(err, &stuck):
		j.met[Stuck]++
		j.stuck(ctx, p, d, stuck)
	case errors.Is(err, elector.ErrServing):
		j.holds(OrdersTold, v.serves > d.serves, p.node.name, "Drain says that the node serves, which nobody has ordered")
	default:
		j.holds(OrdersTold, errors.Is(err, elector.ErrStopped) && !j.stays(p, d.running), p.node.name, "Drain returns %v, and a group has run all the time", err)
		if v.serves == d.serves && v.state == rpc.Draining {
			v.state = d.before // it was not ordered
		}
	}
}

// leadsNothing checks that a node whose Drain has succeeded has led nothing for a heartbeat. A group that it began to
// lead at this moment may not be counted yet.
func (j *judge) leadsNothing(p *process) {
	now := time.Now()
	if !p.busy.noneSince(now) {
		return // it may have shown by now what it will count when it goes on
	}
	for _, m := range j.running(p) {
		leads := m.el.Status().Role == memberstate.Leader
		j.holds(Drains, !leads || !m.tookAt.Before(now), m.name, "Drain has returned, but its node leads it for %v", now.Sub(m.tookAt))
		// A turn that stood still before it showed the loss has begun earlier, and its time counts.
		early := now.Sub(m.lostAt) < m.timing.Heartbeat && p.stands.noneSince(m.lostAt)
		j.holds(Drains, m.lostAt.IsZero() || leads || !early, m.name, "Drain has returned %v after its node led it, which is less than a heartbeat", now.Sub(m.lostAt))
	}
}

// stuck checks the error of a drain that has not succeeded.
func (j *judge) stuck(ctx context.Context, p *process, d *draining, e *elector.StuckError) {
	shown := &e.Progress
	j.addsUp(p, shown)
	told := fmt.Sprintf("still leads %d group", shown.Led)
	if shown.Led == 0 {
		told = "leads nothing"
	}
	j.holds(Drains, strings.Contains(e.Error(), told), p.node.name, "it leads %d groups, and says: %v", shown.Led, e)
	if errors.Is(e, elector.ErrProtected) {
		ordered := d.protected || p.service.protections > d.protections
		j.holds(OrdersTold, ordered && shown.Protected && shown.Led > 0, p.node.name, "Drain says that the node is protected, which nobody has ordered: %+v", *shown)
		return
	}
	if e.Cause != nil {
		j.holds(OrdersTold, ctx.Err() != nil && errors.Is(e, context.Cause(ctx)), p.node.name, "Drain has given up because of %v, its context says %v", e.Cause, ctx.Err())
		return
	}
	j.holds(OrdersTold, shown.Hopeless, p.node.name, "Drain has given up although some groups were not tried several times: %+v", *shown)
	nobody := shown.Stuck[protocol.StuckNoVoter] + shown.Stuck[protocol.StuckLeaving] + shown.Stuck[protocol.StuckNotAble]
	j.holds(OrdersTold, !d.patiently || nobody == shown.Led, p.node.name, "DrainPatiently has given up although voters are there that may take over: %+v", *shown)
}

// addsUp checks that the parts of a progress belong together.
func (j *judge) addsUp(p *process, shown *elector.Progress) {
	parts, least := shown.Waiting+shown.Moving, min(shown.Led, shown.Waiting, shown.Moving, shown.Moved)
	for _, n := range shown.Stuck {
		parts += n
		least = min(least, n)
	}
	state := shown.Standing.State
	drains := state == rpc.Draining || state == rpc.Drained
	right := least >= 0 && (drains && parts == shown.Led || !drains && parts == 0)
	right = right && (state != rpc.Drained || shown.Led == 0)
	right = right && (!shown.Hopeless || shown.Led > 0 && shown.Waiting == 0 && shown.Moving == 0)
	j.holds(Progresses, right, p.node.name, "its progress does not add up: %+v", *shown)
}

// progresses judges what WatchProgress yields.
func (j *judge) progresses(p *process, shown *elector.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead {
		return
	}
	last := &p.service.watched
	j.addsUp(p, shown)
	changed := shown.Standing.Changes - last.Standing.Changes
	right := changed < 1<<31 && (changed > 0 || shown.Standing.State == last.Standing.State || *last == elector.Progress{})
	j.holds(Progresses, right, p.node.name, "its standing is %v after %v", shown.Standing, last.Standing)
	if shown.Standing.State != last.Standing.State {
		j.note("%s: says that it is %v", p.node.name, shown.Standing.State)
	}
	*last = *shown
}

// handsOver says whether a process may hand over what it leads because it drains, or has drained not long ago: a handover
// that is under way goes on when the drain ends.
func (p *process) handsOver(m *member) bool {
	v := &p.service
	ended := !v.endedAt.IsZero() && p.busy.freeFor(v.endedAt) <= 4*m.detection()
	return v.state == rpc.Draining || ended
}

// asksStuck checks the names of groups that a node cannot hand over. They are groups that it leads while it drains.
func (j *judge) asksStuck(p *process) (answered func([]protocol.StuckGroup, error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return asks(j, p, "StuckGroups", func(began time.Time, stuck []protocol.StuckGroup) {
		for i, s := range stuck {
			m := p.members[s.Group]
			twice := slices.ContainsFunc(stuck[:i], func(other protocol.StuckGroup) bool { return other.Group == s.Group })
			// While the disk saves the term that a member leads next, its node counts it, and it does not show that yet.
			leads := m != nil && (m.shown.Role == memberstate.Leader || !m.lostAt.Before(began) || !p.busy.noneSince(began))
			j.holds(Drains, leads && !twice && s.Tries > 0 && p.handsOver(m), p.node.name, "it names %q as stuck after %d tries: %v", s.Group, s.Tries, s.Why)
		}
	})
}

// leadsAny says whether a process leads a group.
func (j *judge) leadsAny(p *process) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.running(p), func(m *member) bool { return m.shown.Role == memberstate.Leader })
}

// unmoved is a member that leads although its node drains, and another voter is able to lead; empty if there is none.
func (j *judge) unmoved(p *process) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, m := range j.running(p) {
		if m.shown.Role == memberstate.Leader && j.replaceable(m) {
			return m.name
		}
	}
	return ""
}

// replaceable says whether another voter of a member's group has been able to lead for long enough for others to know, and its
// node serves.
func (j *judge) replaceable(m *member) bool {
	for _, voter := range m.group.voters {
		p := m.process.world().nodes[voter].process.Load()
		if p == nil || p == m.process || p.dead || p.service.state != rpc.Serving {
			continue
		}
		if other := p.members[m.group.name]; other != nil && !other.over && other.shown.Revision > 0 && other.shown.Inability == protocol.Able && time.Since(other.ableAt) >= 2*other.detection() {
			return true
		}
	}
	return false
}
