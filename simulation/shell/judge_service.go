// This file judges nodes that are taken out of service: what they hand over and to whom, what they say of their
// progress, and what others know of them.

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
	closings    int       // closings of the host under way; they end protection
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

// asked checks what a new process finds in its store about the node itself, and notes that it must begin so. It asks once, before its
// first group takes part.
func (j *judge) asked(p *process, r *memberstate.Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, v := p.node, &p.service
	if p.dead || v.asked {
		return
	}
	kept := r.Vote != ""
	j.holds(RecordsKept, kept == n.kept || n.keptUnsure, n.name, "its store has %v; acknowledged was that it is kept drained: %v", r, n.kept)
	n.kept, n.keptUnsure = kept, false
	v.asked, v.kept, v.keptAt = true, kept, time.Now()
	if kept && !v.held {
		v.state, v.since = rpc.Draining, time.Now()
		j.met[BegunDrained]++
	}
}

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

// keepsDrained notes an order to keep a node drained over restarts, or not to any more. While it is under way, and after it has
// failed, nobody knows what the next process will find.
func (j *judge) keepsDrained(p *process, on bool) (returned func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, c, asked := &p.service, &call{"KeepDrained", time.Now()}, p.service.asked
	v.waiting[c] = struct{}{}
	j.mayKeep(p, on)
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(v.waiting, c)
		if err == nil {
			j.kept(p, on)
		}
		excused := p.dead || p.failing || errors.Is(err, elector.ErrStopped) && !asked
		j.holds(OrdersTold, err == nil || excused, p.node.name, "KeepDrained returns %v, and the disk has not failed", err)
	}
}

// mayKeep notes that the next process may find this, and kept that it must.
func (j *judge) mayKeep(p *process, on bool) {
	if n := p.node; !p.dead && on != n.kept {
		n.keptUnsure = true
	}
}

func (j *judge) kept(p *process, on bool) {
	if p.dead {
		return
	}
	p.node.kept, p.node.keptUnsure = on, false
	p.service.kept, p.service.keptAt = on, time.Now()
}

// ordersKeep says whether such an order is under way.
func (v *service) ordersKeep() bool {
	for c := range v.waiting {
		if c.what == "KeepDrained" || c.what == "Undrain" {
			return true
		}
	}
	return false
}

// undrains notes that an operator takes back the orders to drain, and to be kept drained. The second is done although no
// group runs any more.
func (j *judge) undrains(p *process) (returned func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, c, before, asked := &p.service, &call{"Undrain", time.Now()}, j.running(p), p.service.asked
	v.waiting[c] = struct{}{}
	v.serves++
	j.mayKeep(p, false)
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(v.waiting, c)
		stopped := errors.Is(err, elector.ErrStopped)
		if err == nil || stopped && asked {
			j.kept(p, false)
		}
		if err == nil && !v.awaits {
			v.state, v.since, v.endedAt = rpc.Serving, time.Now(), time.Now()
		}
		excused := p.dead || p.failing || stopped && !j.stays(p, before)
		j.holds(OrdersTold, err == nil || excused, p.node.name, "Undrain returns %v, and a group has run all the time, on a disk that works", err)
	}
}

// serves notes an order to serve.
func (j *judge) serves(p *process) (returned func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, c, before, state := &p.service, &call{"Serve", time.Now()}, j.running(p), p.service.state
	v.waiting[c] = struct{}{}
	v.serves++
	drains := v.awaits && v.kept // the engine is ready, and an operator keeps the node drained
	if drains {
		v.state, v.since = rpc.Draining, time.Now()
	}
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(v.waiting, c)
		if err == nil {
			if v.awaits = false; !drains {
				v.state, v.since, v.endedAt = rpc.Serving, time.Now(), time.Now()
			}
			return
		}
		if drains {
			v.state = state
		}
		j.holds(OrdersTold, p.dead || errors.Is(err, elector.ErrStopped) && !j.stays(p, before), p.node.name, "Serve returns %v, and a group has run all the time", err)
	}
}

// protects notes an order to hand over nothing, or to do so again.
func (j *judge) protects(p *process, on bool) (returned func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, c, before := &p.service, &call{"Protect", time.Now()}, j.running(p)
	v.waiting[c] = struct{}{}
	if on {
		v.protections++
	}
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(v.waiting, c)
		if err == nil {
			v.protected, v.protectedAt, v.unsure = on, time.Now(), v.closings > 0
			return
		}
		j.holds(OrdersTold, p.dead || errors.Is(err, elector.ErrStopped) && !j.stays(p, before), p.node.name, "Protect returns %v, and a group has run all the time", err)
	}
}

// closes notes that the host is about to be closed, which ends protection. Ended is called when it is.
func (j *judge) closes(p *process) (ended func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p.service.closings++
	p.service.unsure = true
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		p.service.closings--
	}
}

// balanced notes an order to balance, or to do so no more.
func (j *judge) balanced(p *process, on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.service.balancing = on; !on {
		p.service.balancedAt = time.Now()
	}
}

// balances says whether a process may hand over what it leads for balance: a handover that is under way goes on after that.
func (p *process) balances(m *member) bool {
	v := &p.service
	return v.balancing || !v.balancedAt.IsZero() && p.busy.freeFor(v.balancedAt) <= 4*m.detection()
}

// handsOver says whether a process may hand over what it leads because it drains, or has drained not long ago: a handover
// that is under way goes on when the drain ends.
func (p *process) handsOver(m *member) bool {
	v := &p.service
	ended := !v.endedAt.IsZero() && p.busy.freeFor(v.endedAt) <= 4*m.detection()
	return v.state == rpc.Draining || ended
}

// asks notes that a process is asked something, and returns what is to be called with the answer. It is checked unless the
// process has died meanwhile.
func asks[T any](j *judge, p *process, what string, check func(began time.Time, answer T)) (answered func(T, error)) {
	began, c := time.Now(), &call{what, time.Now()}
	p.service.waiting[c] = struct{}{}
	return func(answer T, err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(p.service.waiting, c)
		if p.dead {
			return
		}
		j.holds(Prompt, time.Since(began) == 0 || !p.busy.noneSince(began), p.node.name, "%s took %v although nothing had held it up", what, time.Since(began))
		j.holds(OrdersTold, err == nil, p.node.name, "%s returns %v", what, err)
		check(began, answer)
	}
}

// asksNodes checks what a node knows of the others: they are those with which it shares groups.
func (j *judge) asksNodes(p *process) (answered func([]protocol.Peer, error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.running(p)
	return asks(j, p, "Nodes", func(_ time.Time, known []protocol.Peer) {
		now, least, most := j.running(p), map[string]int{}, map[string]int{}
		for _, g := range j.groups {
			if !g.group.has(p.node.index) {
				continue
			}
			runs := slices.ContainsFunc(before, func(m *member) bool { return m.group == g.group && slices.Contains(now, m) })
			for _, n := range g.group.nodes() {
				most[nodeName(n)]++
				if runs {
					least[nodeName(n)]++
				}
			}
		}
		delete(least, p.node.name)
		delete(most, p.node.name)
		last := ""
		for i := range known {
			k := &known[i]
			j.holds(NodesKnown, k.ID > last && k.Groups >= max(1, least[k.ID]) && k.Groups <= most[k.ID], p.node.name,
				"it shows %s after %q, with %d groups; they share %d to %d", k.ID, last, k.Groups, least[k.ID], most[k.ID])
			j.holds(NodesKnown, k.Known || k.Standing == rpc.Standing{}, p.node.name, "it shows that %s is %v, and that it does not know", k.ID, k.Standing)
			last = k.ID
			delete(least, k.ID)
		}
		j.holds(NodesKnown, len(least) == 0, p.node.name, "it does not show nodes with which it shares groups: %v", least)
	})
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

// knows checks what a node knows of another one's standing when no fault strikes. It has to know if groups leave their
// heartbeats to the two nodes. Otherwise the two may have exchanged no beat since one of them was started.
func (j *judge) knows(p, about *process, known *protocol.Peer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead || about.dead {
		return
	}
	says := about.host.Progress().Standing
	same := known.Known && known.Incarnation == about.host.Incarnation() // a node that follows only may not have heard of a new process
	j.holds(NodesKnown, !same || known.Standing == says, p.node.name, "it shows %+v; that is %v", *known, says)
	relies := known.Lead+known.Follow > 0
	j.holds(NodesKnown, same || !relies, p.node.name, "groups rely on beats of the two nodes, and it does not know whether the other serves: %+v", *known)
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
		s := m.el.Status()
		if s.Role != memberstate.Leader || s.Stopped {
			continue
		}
		led++
	}
	state := shown.Standing.State
	if state == rpc.Drained {
		state = rpc.Draining
	}
	add(Progresses, shown.Led != led, "its progress says that it leads %d groups; it leads %d", shown.Led, led)
	add(Progresses, now.After(v.since) && state != v.state, "it is %v; the last order was to be %v", state, v.state)
	add(Progresses, now.After(v.protectedAt) && !v.unsure && shown.Protected != v.protected, "its progress says that it is protected: %v; the last order says: %v", shown.Protected, v.protected)
	add(Progresses, now.After(v.keptAt) && shown.Kept != v.kept, "its progress says that it is kept drained: %v; the last order says: %v", shown.Kept, v.kept)
	add(Progresses, shown != v.watched && !p.lagsBehind.Load(), "WatchProgress has not yielded what Progress shows")
	for c := range v.waiting {
		held := v.protected && !v.unsure && now.After(v.protectedAt) && led > 0
		late := c.what != "Drain" || v.state == rpc.Serving && c.at.Before(v.since) || held
		add(CallsEnd, late && now.After(c.at) && now.After(v.since), "%s has not returned", c.what)
	}
	return list
}

// said is what a process has said of its standing last.
type toldStanding struct {
	of, to  uint64 // its process, and that which it was said to
	changes uint32
	serves  bool
	sure    bool      // the receiver was free to take it in at once
	at      time.Time // when it arrived so
}

// standingHeard notes what a beat that arrives says of its sender's standing.
func (j *judge) standingHeard(p *process, b *rpc.Beat) {
	t, last := &p.beating, p.beating.told[b.From]
	if b.Of != t.incarnation || t.incarnation == 0 || b.Incarnation < last.of {
		return
	}
	newer := b.Incarnation > last.of || last.to != b.Of || int32(b.Standing.Changes-last.changes) > 0
	if newer || b.Standing.Changes == last.changes && !last.sure {
		t.told[b.From] = toldStanding{b.Incarnation, b.Of, b.Standing.Changes, b.Standing.State == rpc.Serving, p.busy.noneSince(time.Now()), time.Now()}
	}
}

// toldBy says what a process has been told of another one that runs, if it has had the time to take that in.
func (p *process) toldBy(other *process) (serves, known bool) {
	if other == nil || other.dead {
		return false, false
	}
	t := p.beating.told[other.node.name]
	known = t.sure && t.of == other.beating.incarnation && t.to == p.beating.incarnation && t.at.Before(time.Now())
	return t.serves, known
}

// offers checks a question whether a voter could take over, unless an order has named it. The voter's node must serve as far
// as the leader knows, unless no other one does that has answered the newest heartbeat. While beats of its node stand for a leader's
// heartbeats, they tell it who answers, so this says nothing then.
func (j *judge) offers(m *member, q *rpc.Message) {
	if m.orders[q.Leader] > 0 {
		m.namedIn[q.Leader] = q.Term
	}
	p, nodes := m.process, m.process.world().nodes
	heir, now := nodeOf(q.Leader), time.Now()
	if q.Mark != rpc.PreVote || m.namedIn[q.Leader] == q.Term || !m.group.votes(heir) || !p.busy.noneSince(now) || m.beatAt != m.ownBeatAt || now.Sub(m.ownBeatAt) >= 2*m.timing.Heartbeat {
		return
	}
	if serves, known := p.toldBy(nodes[heir].process.Load()); serves || !known {
		return
	}
	for _, voter := range m.group.voters {
		a := m.answers[nodeName(voter)]
		if voter == heir || voter == p.node.index || a.term != q.Term || a.round != m.newestRound || !a.at.Before(now) {
			continue
		}
		serves, known := p.toldBy(nodes[voter].process.Load())
		j.holds(NotToLeaving, !serves || !known, m.name, "it asks %s to take over term %d, which has said that it does not serve, although %s does", q.Leader, q.Term, nodeName(voter))
	}
}

// roundAnswer is the newest heartbeat of a leader that a voter has answered.
type roundAnswer struct {
	term  memberstate.Term
	round uint32
	at    time.Time // when the answer arrived
}

// forges checks that a host counts all that was forged among what it has ignored, unless something holds it up.
func (j *judge) forges(p *process) (ignored func(forged int)) {
	count := func() (all uint64) {
		for why := range protocol.Drop(protocol.DropReasons) {
			all += p.host.Dropped(why)
		}
		return all
	}
	began, before := time.Now(), count()
	return func(forged int) {
		now := count()
		j.check(Ignored, now-before >= uint64(forged) || p.isDead() || !p.busy.noneSince(began), p.node.name, "it has ignored %d inputs, and %d were forged", now-before, forged)
	}
}
