// What operators do: commands, other preferences, new observers, and members with other settings
// where that is allowed.

package simulation

import (
	"errors"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
)

func drawTransfer(w *world, s *Strike) bool {
	drawLeaderOrNode(w, s)
	if s.Other = w.swarm.random.IntN(len(w.nodes)); s.Other == s.Node {
		s.Other = (s.Other + 1) % len(w.nodes)
	}
	return s.Other != s.Node
}

// command gives a living process a command. A command for all groups is one turn, as
// when a node is stopped.
func command(w *world, s *Strike) bool {
	n, members := w.struckBy(s), w.membersOf(s)
	if !n.Alive {
		return false
	}
	requests := make([]protocol.Request, len(members))
	for i, m := range members {
		if requests[i] = m.about(protocol.AskStand); s.Fault != StandOrder {
			requests[i] = m.about(protocol.AskOrder)
			requests[i].Order = m.ordered(s)
		}
	}
	n.ask(requests...)
	return true
}

// ordered is an order for a member, to resign or to hand over.
func (m *member) ordered(s *Strike) *protocol.Order {
	m.outcome = new(check.Outcome)
	order := &protocol.Order{Settled: m.outcome.Settle, Resign: s.Fault == ResignOrder}
	if !order.Resign {
		if s.Other >= 0 {
			order.To = m.world.nodes[s.Other].name()
		}
		m.order = order
	}
	m.world.check.Ordered(&m.Member, m.outcome, m.electorate.Members.Seat(order.To))
	return order
}

func drawGivenUp(w *world, s *Strike) bool {
	found := drawLeader(w, s)
	drawLink(w, s)
	s.Count = 1 + int64(w.swarm.span(20*defaultDelay))
	return found && s.Node != s.Other
}

// giveUp orders a leader to hand over, and withdraws the order s.Count nanoseconds later. With 0
// it withdraws the newest order now.
func giveUp(w *world, s *Strike) bool {
	if s.Count > 0 {
		w.follow(time.Duration(s.Count), Strike{Fault: GivenUp, Node: s.Node, Other: nobody, Group: s.Group})
		return command(w, &Strike{Fault: TransferOrder, Node: s.Node, Other: s.Other, Group: s.Group})
	}
	for _, m := range w.membersOf(s) {
		if m.Alive && m.order != nil {
			r := m.about(protocol.AskWithdraw)
			r.Order, r.Err = m.order, errWithdrawn
			m.ask(r)
		}
	}
	return false
}

func drawLateWord(w *world, s *Strike) bool {
	found := drawLeader(w, s)
	drawLink(w, s)
	d := w.options.Timing.Detection()
	s.Lasts, s.Count = d+w.options.Timing.Heartbeat+w.swarm.span(d), int64(w.swarm.span(5*defaultDelay))
	return found && s.Node != s.Other
}

// holdWord orders a leader twice to hand over to the same member. The leader's first message to that
// member, to take over, arrives s.Count nanoseconds after the second order; such messages to other
// members are lost.
func holdWord(w *world, s *Strike) bool {
	order := Strike{Fault: TransferOrder, Node: s.Node, Other: s.Other, Group: s.Group}
	if w.network.word.until > w.now || !command(w, &order) {
		return false
	}
	until := w.now + int64(s.Lasts)
	w.network.word = delayedTransfer{from: uint8(s.Node), to: uint8(s.Other), group: uint8(s.Group), until: until, arrives: until + s.Count}
	w.follow(s.Lasts, order)
	return true
}

func drawPrefer(w *world, s *Strike) bool {
	r := w.swarm.random
	if s.Lasts = 0; r.IntN(2) == 0 {
		s.Node = nobody
	}
	s.Count = int64(w.voters & memberstate.Set(1<<r.IntN(w.options.Members)|r.Int64()&r.Int64()))
	return true
}

// prefer sets the preferred voters, a set in s.Count, at one node, or at all if s.Node is nobody.
func prefer(w *world, s *Strike) bool {
	for i := range w.nodes {
		if s.Node != nobody && s.Node != i {
			continue
		}
		at := Strike{Node: i, Group: s.Group}
		for _, m := range w.membersOf(&at) {
			m.prefers(memberstate.Set(s.Count) & w.voters)
		}
	}
	return true
}

// prefers has a member prefer other leaders.
func (m *member) prefers(these memberstate.Set) {
	r := m.about(protocol.AskPreferred)
	for seat := range these.Seats() {
		r.Preferred = append(r.Preferred, m.electorate.Members.ID(seat))
	}
	r.Settled = func(error) {}
	if m.Alive {
		m.ask(r)
	}
}

func drawRetime(w *world, s *Strike) bool {
	r := w.swarm.random
	if s.Lasts = 0; r.IntN(2) == 0 {
		s.Node = nobody
	}
	s.Count = 500 + r.Int64N(2500)
	return true
}

// retime changes the intervals at one node, or at all if s.Node is nobody, to those that it began with
// times s.Count/1000. A node refuses what cannot work.
func retime(w *world, s *Strike) (changed bool) {
	for i := range w.nodes {
		if n := &w.nodes[i]; !n.Alive || s.Node != nobody && s.Node != i {
			continue
		}
		at := Strike{Node: i, Group: s.Group}
		for _, m := range w.membersOf(&at) {
			m.retimed(scaled(w.options.Timing, s.Count))
			changed = true
		}
	}
	return changed
}

// observedBy adds an observer to the list of a member, unless its digest is that of other voters.
func (m *member) observedBy(n *node) {
	if m.electorate.Rules.Voters != m.world.voters {
		return
	}
	adds := func(e *protocol.Electorate) { e.Members, e.Rules.All = m.world.list(n.Seat), e.Rules.All.With(n.Seat) }
	adds(&m.electorate)
	live := m.group.Electorate // that other groups share, which get the same observer
	if live == nil {
		return // it has not joined yet
	}
	adds(live)
	if m.Rules != &live.Rules { // it has been given others, which other groups may share
		own := *m.Rules
		own.All = live.Rules.All
		m.Rules, m.group.Rules = &own, &own
	}
}

func (m *member) retimed(t elector.Timing) {
	r := m.about(protocol.AskTiming)
	r.Timing, r.Settled = &t, func(error) {}
	m.ask(r)
}

// scaled multiplies all intervals.
func scaled(t elector.Timing, perMille int64) elector.Timing {
	for _, d := range []*time.Duration{&t.Heartbeat, &t.MinVoteWait, &t.MaxVoteWait, &t.RoundTimeout, &t.DriftMargin} {
		*d = *d * time.Duration(perMille) / 1000
	}
	return t
}

func drawObserve(w *world, s *Strike) bool {
	s.Node, s.Lasts = nobody, 0
	return w.mayObserve()
}

// mayObserve says whether there is room for another observer. The lists of members change under
// processes that run, which elector.Host does not allow. It does no harm to leaders that beat by
// themselves, but one that rests does not look at its list.
func (w *world) mayObserve() bool {
	return w.observer == nil && w.seats < maxSeats && !w.options.Beats
}

// observe adds an observer to all groups, at a node of its own.
func observe(w *world, _ *Strike) bool {
	if !w.mayObserve() {
		return false
	}
	w.observer = w.addNode(memberstate.Seat(w.seats + 1))
	for i := range w.nodes {
		for place := range w.nodes[i].members {
			w.nodes[i].members[place].observedBy(w.observer)
		}
	}
	w.observer.start()
	return true
}

// without turns off pre-vote or leases at a member, from the beginning.
func without(w *world, s *Strike) (had bool) {
	for _, m := range w.membersOf(s) {
		r := m.rules()
		if s.Fault == WithoutPreVote {
			had = had || r.PreVote
			r.PreVote = false
		} else {
			had = had || r.Lease > 0
			r.Lease = 0
		}
	}
	return had
}

// drawSwitch also restarts the next s.Count members, one after the other, before the promises of the
// first ones have run out.
func drawSwitch(w *world, s *Strike) bool {
	s.Lasts = 1 + w.swarm.span(w.options.Timing.Detection()/4)
	s.Count = w.swarm.random.Int64N(int64(w.options.Members))
	return true
}

// switchLeases restarts a member with leases on instead of off, or off instead of on. If the strike
// is on one of several groups, only this group stops and joins again; else the process dies. The
// next member follows when this one is back.
func switchLeases(w *world, s *Strike) bool {
	n, t := w.struckBy(s), &w.options.Timing
	if t.Validate(true) != nil {
		return false // the intervals leave no room for leases
	}
	if len(w.groups) > 1 && s.Group != EveryGroup && n.Alive {
		n.members[s.Group].leave(s.Lasts)
	} else {
		if n.Alive {
			n.crash()
		}
		for _, m := range w.membersOf(s) {
			m.switchLease()
		}
		n.comesBack(s.Lasts)
	}
	if s.Count > 0 {
		w.follow(s.Lasts, Strike{Fault: SwitchLeases, Node: (s.Node + 1) % len(w.nodes), Other: nobody, Group: s.Group, Lasts: s.Lasts, Count: s.Count - 1})
	}
	return true
}

// longestLease is the longest that a valid timing allows.
const longestLease = 24 * time.Hour

// longer has a member promise longer leases than the others, and ask for such leases.
func longer(w *world, s *Strike) (had bool) {
	for _, m := range w.membersOf(s) {
		r := m.rules()
		r.Lease = min(2*r.Lease, longestLease)
		had = had || r.Lease > 0
	}
	return had
}

var errWithdrawn = errors.New("withdrawn")
