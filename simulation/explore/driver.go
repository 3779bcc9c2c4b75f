// The driver of a session: what the session has asked it for, and the events that follow from that.

package explore

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// driver is the state beside the steps of a session.
type driver struct {
	hold        time.Duration    // until when the lease is held, by the node's clock; 0: none is
	lead        memberstate.Term // the newest term that the engine's Lead was called for
	runs, ended bool             // that Lead runs; its context has ended
	pause       uint32           // the number of the pause that a handover waits for; 0: none does
	paused      bool             // for a handover
}

// canonize removes what does not affect behaviour, as the session's own canonical form does.
func (o *driver) canonize(n *node, r *protocol.Rules) {
	if o.hold != 0 {
		o.hold = protocol.CanonicalNow + max(o.hold-n.time.now, 0)
	}
	o.pause = min(o.pause, 1)
	if mayLead := n.leads(o.lead) && !n.session.HoldsNoMoreLease(r); (o.ended || !o.runs) && !mayLead {
		o.lead = 0
	}
}

// holdsLease says whether the node holds a lease, by its own clock.
func (n *node) holdsLease() bool { return n.driver.hold > n.time.now }

// leaseLeft is how many more ticks it holds that lease, by its own clock.
func (n *node) leaseLeft() int { return int(max(n.driver.hold-n.time.now, 0) / tick) }

// lapsed says whether its lease has run out and its session does not know yet.
func (n *node) lapsed() bool { return n.driver.hold != 0 && !n.holdsLease() }

// raise delivers an event to the session; false if the event is impossible now. The events: the lease has run
// out; Lead returns, after its context has ended or, within some bounds, because the engine does not want to
// serve; the engine has paused its writes, or cannot; an order is withdrawn or, while a step waits, given.
func (w *execution) raise(what inputKind) bool {
	if !w.canRaise(what) {
		return false
	}
	o, s := &w.node.driver, &w.session
	transfer, resign := s.Ordered()
	switch what {
	case leaseExpires:
		w.lapsed = s.Term
		s.LeaseOver(s.Term)
	case leadReturns:
		early := !o.ended
		o.runs, o.ended = false, false
		s.LeadReturned(o.lead, early)
	case pauseDone, pauseFails:
		number := o.pause
		o.pause, o.paused = 0, what == pauseDone
		s.PauseEnded(number, o.paused)
	case latePauseDone:
		s.PauseEnded(o.pause-1, true)
	case withdrawsTransfer:
		w.withdraw(handsOver)
		w.orders(false, resign)
	case withdrawsResignation:
		w.withdraw(resigns)
		w.orders(transfer, false)
	case resigns:
		w.queued = true
		w.orders(transfer, true)
	default:
	}
	return true
}

// canRaise says whether the event is possible now.
func (w *execution) canRaise(what inputKind) bool {
	o := &w.node.driver
	transfer, resign := w.session.Ordered()
	switch what {
	case leaseExpires:
		return w.node.lapsed()
	case leadReturns:
		return o.runs && (o.ended || w.model.bounds.Withdrawals)
	case pauseDone, pauseFails, latePauseDone:
		return o.pause != 0
	case withdrawsTransfer:
		return transfer && w.model.bounds.Withdrawals
	case withdrawsResignation:
		return resign && w.model.bounds.Withdrawals
	case resigns: // while a step waits; otherwise it is an input of its own
		return !resign && w.session.Role == memberstate.Leader && w.model.bounds.Withdrawals
	default:
		return false
	}
}

// withdraw withdraws an order. It must have no effect any more if its step still waits for the ledger.
func (w *execution) withdraw(order inputKind) {
	w.queued = w.queued && order != resigns
	if w.ordered == order {
		w.step.Withdrawn, w.withdrawn = true, w.step.Output.NeedLedger
	}
}

// order gives an order to hand over, or to resign. A transfer is refused while another one is under way.
func (w *execution) order(in protocol.Input) {
	switch transfer, _ := w.session.Ordered(); {
	case in.Kind == protocol.Resign:
		w.orders(transfer, true)
		w.ordered = resigns
	case w.session.HandsOver():
		return
	default:
		w.orders(true, false)
		w.ordered = handsOver
	}
	w.begin(in)
}

// orders tells the session how many orders of each kind stand: one, or none.
func (w *execution) orders(transfer, resign bool) {
	count := map[bool]int{true: 1}
	w.session.Orders(count[transfer], count[resign])
}

// Hold says until when the lease lasts. A lease that has run out must not be extended, because the driver may
// have acted on its end.
func (w *execution) Hold(until time.Duration) {
	if w.node.lapsed() && until != 0 {
		w.violated(invariant.OneLease, "its lease is extended after it has run out")
	}
	w.node.driver.hold = until
}

// office is the member's and its engine's.
func (w *execution) office() check.Office {
	s, o := &w.session, &w.node.driver
	return check.Office{
		Term: s.Term, Lead: o.lead, Runs: o.runs, Ended: o.ended,
		Serves: s.Role == memberstate.Leader && (!w.model.bounds.Leases || w.node.holdsLease()),
	}
}

// Lead begins the engine's Lead.
func (w *execution) Lead(term memberstate.Term) {
	o := w.office()
	w.broken(o.Begins(term))
	w.node.driver.lead, w.node.driver.runs, w.node.driver.ended = term, true, false
}

// EndLead ends Lead's context.
func (w *execution) EndLead(term memberstate.Term) {
	o := w.office()
	w.broken(o.Ends(term))
	w.node.driver.ended = true
}

// Pause makes the engine pause its writes, at once or later.
func (w *execution) Pause(_ memberstate.Term, number uint32) {
	if w.node.driver.pause = number; !w.model.bounds.Pauses {
		w.raise(pauseDone)
	}
}

// Resume ends the handover. A pause that has not ended is ignored from then on.
func (w *execution) Resume() { w.node.driver.pause, w.node.driver.paused = 0, false }

// Settle says that no order stands any more that the machine was given.
func (w *execution) Settle() { w.orders(false, w.queued) }

// checkLoss checks a member that waits for its disk and leads no more.
func (w *execution) checkLoss() {
	if o := &w.node.driver; w.session.Role != memberstate.Leader && (o.hold != 0 || o.runs && !o.ended) {
		w.violated(invariant.OneOffice, "it lost the leadership and waits for its disk before it has ended its lease and Lead")
	}
}

// checkHandover checks a member that tells another one to stand. That ends its lease. So if the lease runs out
// just before, while this step waits for the ledger, the member need not step down: its term can hold no lease
// any more, and it leads on until the heir has won.
func (w *execution) checkHandover() {
	w.toldToStand = true
	switch {
	case w.node.holdsLease():
		w.violated(invariant.OneLease, "it orders another member to stand while it holds a lease")
	case !w.node.driver.paused && !w.cannotPause():
		w.violated(invariant.LegalStep, "it orders another member to stand before its engine has paused its writes")
	}
}

// cannotPause says whether a leader hands over because it is not able, and something of it hangs, or did so when it
// first ordered its heir to stand.
func (w *execution) cannotPause() bool {
	before, now := w.before.session.Handover(), w.session.Handover()
	ordered := before.Phase == protocol.Taking && before.Reason == protocol.ToAble
	return now.Reason == protocol.ToAble && (ordered || hanging(w.session.Inability()))
}

// checkWait checks a step that waits for the end of the ledger. If it is to adopt a larger term the office must have
// ended: from now on the engine accepts nothing of the old one.
func (w *execution) checkWait() {
	if w.session.Role != memberstate.Leader {
		return
	}
	if w.step.Output.LedgerTerm > w.session.Term {
		w.checkEnded()
	}
	in := &w.step.Input
	if in.Kind == protocol.Ring && hanging(w.session.Inability()) || in.Kind == protocol.Ability && hanging(in.Inability) {
		w.violated(invariant.NeverStuck, "it waits for the end of its ledger to hand over, although something of it hangs")
	}
}

// checkEnded checks that an office has ended although the step that ends it waits.
func (w *execution) checkEnded() {
	if o := &w.node.driver; o.hold != 0 || o.runs && !o.ended || w.shown == memberstate.Leader {
		w.violated(invariant.OneOffice, "it lost the leadership and waits for its ledger before it has ended its lease and Lead, and shown it")
	}
}

// checkDriver compares the driver's state with the member's.
func (w *execution) checkDriver() {
	n, o, office := w.node, &w.node.driver, w.office()
	w.broken(office.Goes())
	switch {
	case o.runs && !w.session.Serving():
		w.violated(invariant.OneOffice, "it may stand before its engine's Lead of term %d has returned", o.lead)
	case n.leads(w.lapsed) && !w.toldToStand:
		w.violated(invariant.NeverStuck, "it still leads although its lease has run out")
	case w.hung && n.session.Role == memberstate.Leader:
		w.violated(invariant.OneOffice, "its LedgerEnd has not returned in time, and it leads on")
	case (o.pause != 0 || o.paused) && w.session.Handover().Phase == protocol.NoHandover:
		w.violated(invariant.NeverStuck, "its engine's writes are paused although no handover is under way")
	case office.Serves && !o.runs && o.lead == n.session.Term && !w.session.Handover().Resigning:
		w.violated(invariant.NeverStuck, "its engine's Lead of term %d has returned, but it does not resign", n.session.Term)
	}
}
