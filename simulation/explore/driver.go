// The driver of a session: what the session has asked it for, and the events that follow from that.

package explore

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
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

// lapsed says whether its lease has run out and its session has not been told.
func (n *node) lapsed() bool { return n.driver.hold != 0 && !n.holdsLease() }

// mayServe says whether the node's engine may serve: it leads and, with leases, holds one.
func (n *node) mayServe(r *protocol.Rules) bool {
	return n.session.Role == memberstate.Leader && (r.Lease == 0 || n.holdsLease())
}

// tell delivers an event to the session; false if the event is impossible now. The events: the lease has run
// out; Lead returns, after its context has ended or, within some bounds, because the engine does not want to
// serve; the engine has paused its writes, or cannot; an order is withdrawn or, while a step waits, given.
func (w *stepping) tell(what inputKind) bool {
	if !w.canTell(what) {
		return false
	}
	o, s := &w.node.driver, &w.session
	transfer, resign := s.Ordered()
	switch what {
	case lapses:
		w.lapsed = s.Term
		s.LeaseOver(s.Term)
	case returns:
		early := !o.ended
		o.runs, o.ended = false, false
		s.LeadReturned(o.lead, early)
	case pauses, fails:
		number := o.pause
		o.pause, o.paused = 0, what == pauses
		s.PauseEnded(number, o.paused)
	case lags:
		s.PauseEnded(o.pause-1, true)
	case callsOff:
		w.withdraw(handsOver)
		w.orders(false, resign)
	case stays:
		w.withdraw(resigns)
		w.orders(transfer, false)
	case resigns:
		w.queued = true
		w.orders(transfer, true)
	default:
	}
	return true
}

// canTell says whether the event is possible now.
func (w *stepping) canTell(what inputKind) bool {
	o := &w.node.driver
	transfer, resign := w.session.Ordered()
	switch what {
	case lapses:
		return w.node.lapsed()
	case returns:
		return o.runs && (o.ended || w.model.bounds.Withdrawals)
	case pauses, fails, lags:
		return o.pause != 0
	case callsOff:
		return transfer && w.model.bounds.Withdrawals
	case stays:
		return resign && w.model.bounds.Withdrawals
	case resigns: // while a step waits; otherwise it is an input of its own
		return !resign && w.session.Role == memberstate.Leader && w.model.bounds.Withdrawals
	default:
		return false
	}
}

// withdraw withdraws an order. It must have no effect any more if its step still waits for the ledger.
func (w *stepping) withdraw(order inputKind) {
	w.queued = w.queued && order != resigns
	if w.ordered == order {
		w.step.Withdrawn, w.withdrawn = true, w.step.Output.NeedLedger
	}
}

// order gives an order to hand over, or to resign. A transfer is refused while another one is under way.
func (w *stepping) order(in protocol.Input) {
	transfer, resign := w.session.Ordered()
	switch phase := w.session.Handover().Phase; {
	case in.Kind == protocol.Resign:
		w.orders(transfer, true)
		w.ordered = resigns
	case phase != protocol.NoHandover || transfer || resign:
		return
	default:
		w.orders(true, resign)
		w.ordered = handsOver
	}
	w.give(in)
}

// orders tells the session how many orders of each kind stand: one, or none.
func (w *stepping) orders(transfer, resign bool) {
	count := map[bool]int{true: 1}
	w.session.Orders(count[transfer], count[resign])
}

// Hold says until when the lease lasts. A lease that has run out must not be extended, because the driver may
// have acted on its end.
func (w *stepping) Hold(until time.Duration) {
	if w.node.lapsed() && until != 0 {
		w.blame(invariant.OneLease, "its lease has run out, and is extended")
	}
	w.node.driver.hold = until
}

// Lead begins the engine's Lead.
func (w *stepping) Lead(term memberstate.Term) {
	n := w.node
	switch o := &n.driver; {
	case o.runs:
		w.blame(invariant.OneOffice, "its engine's Lead of term %d begins, and that of term %d has not returned", term, o.lead)
	case o.lead == term:
		w.blame(invariant.OneOffice, "its engine's Lead of term %d begins again", term)
	case w.session.Term != term || w.session.Role != memberstate.Leader || w.model.bounds.Leases && !n.holdsLease():
		w.blame(invariant.OneOffice, "its engine's Lead of term %d begins, and it may not serve", term)
	}
	n.driver.lead, n.driver.runs, n.driver.ended = term, true, false
}

// EndLead ends Lead's context.
func (w *stepping) EndLead(term memberstate.Term) {
	o := &w.node.driver
	if !o.runs || o.lead != term {
		w.blame(invariant.OneOffice, "its engine's Lead of term %d ends, and does not run", term)
	}
	o.ended = true
}

// Pause makes the engine pause its writes, at once or later.
func (w *stepping) Pause(_ memberstate.Term, number uint32) {
	if w.node.driver.pause = number; !w.model.bounds.Pauses {
		w.tell(pauses)
	}
}

// Resume ends the handover. A pause that has not ended is ignored from then on.
func (w *stepping) Resume() { w.node.driver.pause, w.node.driver.paused = 0, false }

// Settle says that no order stands any more that the machine was given.
func (w *stepping) Settle() { w.orders(false, w.queued) }

// checkLoss checks a member that waits for its disk and leads no more.
func (w *stepping) checkLoss() {
	if o := &w.node.driver; w.session.Role != memberstate.Leader && (o.hold != 0 || o.runs && !o.ended) {
		w.blame(invariant.OneOffice, "it waits for its disk, and its engine has not been told that it leads no more")
	}
}

// checkHandover checks a member that tells another one to stand. That ends its lease. So if the lease runs out
// just before, while this step waits for the ledger, the member need not step down: its term can hold no lease
// any more, and it leads on until the heir has won.
func (w *stepping) checkHandover() {
	w.toldToStand = true
	switch {
	case w.node.holdsLease():
		w.blame(invariant.OneLease, "it tells another one to stand, and holds a lease")
	case !w.node.driver.paused:
		w.blame(invariant.LegalStep, "it tells another one to stand, and its engine has not paused its writes")
	}
}

// checkDriver compares the driver's state with the member's.
func (w *stepping) checkDriver() {
	n, o := w.node, &w.node.driver
	serves := n.mayServe(&w.model.rules[n.index()])
	switch {
	case o.runs && !w.session.Serving():
		w.blame(invariant.OneOffice, "its engine's Lead of term %d has not returned, and it may stand", o.lead)
	case o.runs && !o.ended && (!serves || o.lead != n.session.Term):
		w.blame(invariant.OneOffice, "its engine's Lead of term %d goes on, and it may not serve", o.lead)
	case n.leads(w.lapsed) && !w.toldToStand:
		w.blame(invariant.NeverStuck, "its lease has run out, and it leads on")
	case (o.pause != 0 || o.paused) && w.session.Handover().Phase == protocol.NoHandover:
		w.blame(invariant.NeverStuck, "its engine's writes are paused, and no handover is under way")
	case serves && !o.runs && o.lead != n.session.Term:
		w.blame(invariant.NeverStuck, "it may serve in term %d, and its engine's Lead was not begun", n.session.Term)
	case serves && !o.runs && !w.session.Handover().Resigning:
		w.blame(invariant.NeverStuck, "its engine's Lead of term %d has returned, and it does not resign", n.session.Term)
	}
}
