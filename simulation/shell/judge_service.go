// This file holds what the judge knows of the orders for a whole process, and the checks that its state follows from them. Drains are
// judged in judge_drain.go, the other orders in judge_orders.go, and what others know in judge_nodes.go.

package shell

import (
	"fmt"
	"slices"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// service holds the judge's knowledge of a process's orders to drain and to serve. The judge's mu guards all but held,
// which does not change.
type service struct {
	held    bool          // it began without serving, because its engine was not ready
	awaits  bool          // its engine is not ready yet
	state   rpc.NodeState // that follows from the last order; Draining stands for Drained, too
	since   time.Time     // when that was given, ...
	endedAt time.Time     // ... and when the last drain ended
	serves  int           // orders to serve

	protected   bool      // by the last order
	protectedAt time.Time // when that was given
	protections int       // orders to be protected
	closings    int       // closings of the host under way; they end protection, ...
	closed      int       // ... and how many have ended
	unsure      bool      // an order may have come before the end of a closing, or after it

	asked  bool      // its store has said whether the node is kept drained
	kept   bool      // later processes begin drained, as far as this one knows
	keptAt time.Time // since when

	balancing  bool      // it was ordered to balance last
	balancedAt time.Time // when it was ordered not to any more

	waiting map[*call]struct{}
	watched elector.Progress // that WatchProgress has yielded last
}

// begins notes whether a process begins without serving.
func (v *service) begins(held bool) {
	v.held, v.awaits, v.waiting = held, held, map[*call]struct{}{}
	if held {
		v.state = rpc.Starting
	}
}

// mayServe says whether the process serves by the last order, or such an order is under way.
func (v *service) mayServe() bool {
	for c := range v.waiting {
		if c.what == "Serve" || c.what == "Undrain" {
			return true
		}
	}
	return v.state == rpc.Serving
}

// running lists the members of a process that take part, and are not about to end.
func (j *judge) running(p *process) (list []*member) {
	for _, m := range p.members {
		if !m.over && !m.leaving && m.shown.Revision > 0 && !m.shown.Stopped {
			list = append(list, m)
		}
	}
	return list
}

// stays says whether one of these members runs still, so that its host has taken orders ever since.
func (j *judge) stays(p *process, before []*member) bool {
	now := j.running(p)
	return slices.ContainsFunc(before, func(m *member) bool { return slices.Contains(now, m) })
}

// noneWaits checks that no call about the whole node waits when none of its groups runs.
func (j *judge) noneWaits(p *process) {
	settle()
	j.mu.Lock()
	defer j.mu.Unlock()
	for c := range p.service.waiting {
		excused := p.dead || !p.busy.noneSince(time.Now().Add(-1)) || time.Since(c.at) <= 1
		j.holds(CallsEnd, excused, p.node.name, "no group runs, but %s still waits", c.what)
	}
}

// disservice lists the violations of a process that count only if they last beyond this moment.
func (j *judge) disservice(p *process) (list []doubt) {
	add := func(i Invariant, wrong bool, format string, args ...any) {
		j.checked[i]++
		if wrong {
			list = append(list, doubt{i, fmt.Sprintf(format, args...)})
		}
	}
	v, now := &p.service, time.Now()
	if !p.busy.noneSince(now.Add(-1)) {
		return nil
	}
	shown, led := p.host.Progress(), 0
	for _, m := range p.members {
		if m.over || m.el == nil {
			continue
		}
		if s := m.el.Status(); s.Role == memberstate.Leader && !s.Stopped {
			led++
		}
	}
	state := shown.Standing.State
	if state == rpc.Drained {
		state = rpc.Draining
	}
	add(Progresses, shown.Led != led, "its progress says that it leads %d groups; it leads %d", shown.Led, led)
	add(Progresses, now.After(v.since) && state != v.state, "it is %v; the last order was to be %v", state, v.state)
	add(Progresses, now.After(v.protectedAt) && !v.unsure && shown.Protected != v.protected, "its progress says that it is protected: %v; the last order says: %v", shown.Protected, v.protected)
	add(Progresses, now.After(v.keptAt) && !v.ordersKeep() && !p.node.keptUnsure && shown.Kept != v.kept, "its progress says that it is kept drained: %v; the last order says: %v", shown.Kept, v.kept)
	add(Progresses, shown != v.watched && !p.lagsBehind.Load(), "WatchProgress has not yielded what Progress shows")
	for c := range v.waiting {
		held := v.protected && !v.unsure && now.After(v.protectedAt) && led > 0
		late := c.what != "Drain" || v.state == rpc.Serving && c.at.Before(v.since) || held
		add(CallsEnd, late && now.After(c.at) && now.After(v.since), "%s has not returned", c.what)
	}
	return list
}
