// A step of a node: an input, the session that takes it, and the invariants that must hold. driver.go has
// what the session's driver does beside the steps.

package explore

import (
	"fmt"
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// execution is a step under way. It implements protocol.Effects, together with driver.go.
type execution struct {
	model        *model
	node         *node
	before       node
	guess        nodeID   // that the node may well have again; or none
	back         renaming // to the seats that the members have
	from         memberstate.Seat
	stale        bool             // the input is a stale message, so the answer is stale, too
	lapsed       memberstate.Term // the term whose lease the session knows to have run out; 0: none
	toldToStand  bool             // it has told another member to stand
	starts       bool
	interleaving *interleaving // the events during its waits; nil: none
	queued       bool          // an order to resign, until the step under way is done
	withdrawn    bool          // the input was, before it changed anything
	ledgerHangs  bool          // the next LedgerEnd for which a leader's step waits does not return in time
	hung         bool          // that has happened
	waited       bool          // a leader's step has waited for LedgerEnd, and might have done so in vain
	shown        memberstate.Role
	ordered      inputKind // the order that is being carried out; none: none is
	alarm        uint32    // the number of the newest one that was set; 0: none was
	sent         []message
	saved        bool
	outOfBounds  bool
	defect       defect

	buffer  node             // for the node, unless the caller has its own
	session protocol.Session // the node's, while it steps
	duties  protocol.Duties
	step    protocol.Step
	was     protocol.Machine      // before the step
	last    memberstate.State     // before the newest step of the machine
	disk    memberstate.HardState // what is durable
}

// newExecution begins a step of a node; back gives the members' true seats. There is one at a time.
func (m *model) newExecution(n *node, back renaming) *execution {
	w := &m.execution
	w.buffer = *n
	w.model, w.node, w.before, w.guess, w.back, w.from = m, &w.buffer, *n, noNode, back, memberstate.Nobody
	w.stale, w.lapsed, w.toldToStand, w.starts, w.saved, w.outOfBounds = false, 0, false, false, false, false
	w.interleaving, w.queued, w.withdrawn, w.ordered = nil, false, false, none
	w.ledgerHangs, w.hung, w.waited = false, false, false
	w.alarm, w.sent, w.defect = 0, w.sent[:0], defect{}
	return w
}

// start begins an incarnation with the durable state. The engine has kept its ledger, and forgotten its
// promise.
func (w *execution) start() {
	n, r := w.node, &w.model.rules[w.node.index()]
	durable := n.session.HardState
	n.promised, n.driver, w.starts = 0, driver{}, true
	s := protocol.NewSession(r, durable, n.ledger.end(), durable.Term)
	n.session = s.Snapshot()
	w.apply(protocol.Input{Kind: protocol.Start}, alarmRings, memberstate.Nobody) // it sends nothing
	switch now := n.session.HardState; {
	case now.Term < durable.Term:
		w.violated(invariant.TermsRise, "it starts in term %d although it had saved term %d", now.Term, durable.Term)
	case now.Term > durable.Term:
		w.violated(invariant.LegalStep, "it starts in term %d although it has saved only term %d", now.Term, durable.Term)
	case now.Vote != durable.Vote:
		w.violated(invariant.OneVote, "it starts in term %d with a vote that differs from the saved one", now.Term)
	}
}

// receiveAppend gives the engine an append. It takes the append if the elector lets it, and then acknowledges it.
func (w *execution) receiveAppend(msg *message) {
	n := w.node
	w.apply(protocol.Input{Kind: protocol.Heard, Term: msg.body.Term, Seat: msg.body.Leader}, delivered, memberstate.Nobody)
	v := protocol.View{Term: n.session.Term, Leader: n.session.Leader}
	if w.defect.none() && v.Hears(msg.body.Term, msg.body.Leader) == protocol.HeardLeader && n.promised <= msg.body.Term {
		if !n.ledger.holds(msg.ledger) {
			n.ledger = msg.ledger
		}
		w.sent = append(w.sent, message{to: msg.body.From, engine: true, ledger: msg.ledger, body: protocol.Message{
			From: n.seat, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Term: msg.body.Term},
		}})
	}
}

// apply applies something to the node's session; for most kinds it is an input.
func (w *execution) apply(in protocol.Input, kind inputKind, from memberstate.Seat) {
	n := w.node
	w.session, w.from = n.session.Session(&w.duties), from
	w.was, w.disk, w.shown = w.session.Machine, w.session.HardState, w.session.Role
	switch kind {
	case handsOver, resigns:
		w.order(in)
	case leaseExpires, leadReturns, pauseDone, pauseFails, latePauseDone, withdrawsTransfer, withdrawsResignation:
		if w.raise(kind) {
			w.attend()
		}
	case none:
		w.attend()
	case isAble, isUnwell, hangs, recovers:
		w.becomes(in.Inability)
	default:
		w.begin(in)
	}
	if w.queued && w.defect.none() {
		w.queued, w.ordered = false, resigns
		w.begin(protocol.Input{Kind: protocol.Resign})
	}
	n.session = w.session.Snapshot()
	if w.defect.none() {
		w.checkState()
		w.checkDriver()
	}
}

// begin gives the session an input.
func (w *execution) begin(in protocol.Input) {
	w.step = protocol.Step{Input: in}
	w.serve(w.session.Begin(w.rules(), w.node.time.now, &w.step, w))
}

// attend makes the session go on with what has changed beside its steps.
func (w *execution) attend() {
	w.step = protocol.Step{}
	w.serve(w.session.Attend(w.rules(), w.node.time.now, &w.step, w))
}

func (w *execution) rules() *protocol.Rules { return &w.model.rules[w.node.index()] }

// serve does what the session waits for, until it waits for nothing.
func (w *execution) serve(need protocol.Need) {
	n, r, now := w.node, w.rules(), w.node.time.now
	for asked := 0; need != protocol.NeedNothing; {
		switch need {
		case protocol.NeedLedger:
			if asked++; asked > mostLedgers {
				w.violated(invariant.NeverStuck, "it asks for the end of its ledger for term %d without end", w.step.Output.LedgerTerm)
				return
			}
			n.promised = max(n.promised, w.step.Output.LedgerTerm)
			w.checkWait()
			w.waitsForLedger()
			need = w.session.Ledger(r, now, &w.step, w, n.ledger.end(), anyTerm)
		case protocol.NeedSave:
			w.checkLoss()
			w.interleave()
			w.saved, w.disk = true, w.session.HardState
			need = w.session.Saved(r, now, &w.step, w)
		case protocol.NeedStop, protocol.NeedNothing:
			w.violated(invariant.LegalStep, "%v", w.step.Output.Err)
			return
		}
	}
}

const (
	// mostLedgers bounds how often a step, and the steps of its own that the session takes after it, may
	// ask where the ledger ends.
	mostLedgers = 8
	// anyTerm is a term with which every ledger is legal.
	anyTerm = ^memberstate.Term(0)
)

// Before notes the machine's state before a step, and After compares it with the state after it.
func (w *execution) Before(*protocol.Input) { w.last = w.session.State }

func (w *execution) After(x *protocol.Step) {
	if x.Output.NeedLedger {
		return
	}
	if w.hung && x.Input.HasLedger {
		w.violated(invariant.LegalStep, "a step takes effect although it was given up with the office")
	}
	if wrong := check.Step(w.rules(), &w.last, &w.session.Machine, x); wrong != 0 {
		for broken, what := range wrong.All() {
			w.violated(broken, "%s, from %+v to %+v", what, w.last, w.session.State)
		}
	}
}

// Done checks the machine after an input.
func (w *execution) Done() {
	x, q := &w.step, &w.step.Input.Message
	w.ordered = none
	w.checkState()
	if x.Input.Kind == protocol.Receive && q.Kind == rpc.VoteRequest && q.Mark == rpc.PreVote && w.session.Machine != w.was {
		w.violated(invariant.LegalStep, "a pre-vote request changes its state")
	}
}

// checkState checks that the hard state is saved, and notes a victory.
func (w *execution) checkState() {
	n, m := w.node, &w.session.Machine
	if m.HardState != w.disk {
		w.violated(invariant.LegalStep, "its hard state changed but was not saved")
	}
	if m.Role == memberstate.Leader && (w.was.Role != memberstate.Leader || w.was.Term != m.Term) {
		if won := victory(n.seat, m.Term); !slices.Contains(w.sent, won) {
			w.sent = append(w.sent, won)
		}
	}
}

// broken notes a breach, if it is one.
func (w *execution) broken(b check.Breach) {
	if !b.None() && w.defect.none() {
		w.defect = defect{b.Broken, b.What}
	}
}

func (w *execution) violated(broken invariant.Invariant, format string, args ...any) {
	if w.defect.none() {
		w.defect = defect{broken, fmt.Sprintf(format, args...)}
	}
}

// stepResult is the effect, by numbers.
func (w *execution) stepResult() stepResult {
	r := w.effect()
	switch {
	case r.outOfBounds:
		return stepResult{outOfBounds: true}
	case !r.defect.none():
		return stepResult{defect: r.defect}
	}
	t := stepResult{node: w.model.internLike(&r.node, w.guess), saved: w.saved, ended: r.ended, hung: w.hung && !w.model.forgetsLate()}
	for i := range r.sent {
		t.sent = append(t.sent, w.model.message(r.sent[i]))
	}
	return t
}

// effect is the effect of the step.
func (w *execution) effect() (r effect) {
	n, m := w.node, w.model
	w.leadEnds()
	if w.outOfBounds || n.session.Term > memberstate.Term(m.bounds.Terms) || n.session.Beat() > uint32(m.bounds.Beats) {
		return effect{outOfBounds: true}
	}
	if !w.defect.none() {
		return effect{defect: w.defect}
	}
	ballot, _, _ := n.session.Open()
	r = effect{node: n.renamed(w.back), ended: w.before.inRound() && ballot != thisRound}
	m.canonize(&r.node)
	for _, msg := range w.sent {
		if w.numbered(&msg.body, ballot) {
			r.sent = append(r.sent, msg.renamed(w.back))
		}
	}
	return r
}

// numbered gives a message of a round of votes the number that it has in the model, and says whether the
// message must be kept.
func (w *execution) numbered(b *protocol.Message, ballot uint32) bool {
	forgets := w.model.forgetsLate()
	if w.model.forgetsAbility() {
		b.Unable = 0
	}
	switch {
	case b.Result != 0 && b.Mark != rpc.Vouched:
		return !w.model.arrivesAsStale(b, w.node.session.Term)
	case b.Kind == rpc.VoteRequest && (b.Round == ballot || b.Mark != rpc.PreVote && forgets):
		b.Round = thisRound
	case b.Kind == rpc.VoteRequest:
		b.Round = roundOver
		return !forgets
	}
	return true
}

// Reply answers the message that was the input.
func (w *execution) Reply(m *protocol.Message) {
	w.checkVote(w.from, m)
	if !w.stale {
		w.emit(w.from, m)
	}
}

// checkVote checks an answer that grants a vote.
func (w *execution) checkVote(to memberstate.Seat, m *protocol.Message) {
	if m.Kind == rpc.VoteResponse && m.Result == rpc.Accept && m.Mark != rpc.PreVote && (w.disk.Term != m.Asked || w.disk.Vote != to) {
		w.violated(invariant.OneVote, "it grants a vote that it has not saved")
	}
}

// Send sends a message to all others, or to one.
func (w *execution) Send(to memberstate.Set, m *protocol.Message) {
	if m.Kind == rpc.VoteRequest {
		w.checkRequest(m)
	}
	if m.Kind == rpc.TakeLeadership && m.Mark == rpc.Plain {
		w.checkHandover()
	}
	if to.Len() == 1 && w.model.bounds.Members > 2 {
		for seat := range to.Seats() {
			w.checkVote(seat, m)
			w.emit(seat, m)
		}
		return
	}
	w.emit(memberstate.Nobody, m)
}

// checkRequest checks a request for votes.
func (w *execution) checkRequest(m *protocol.Message) {
	before := &w.before.session.Machine
	switch {
	case m.Term > memberstate.Term(w.model.bounds.Terms):
		w.outOfBounds = true
	case w.node.driver.runs && before.Role != memberstate.Leader:
		office := w.office()
		w.broken(office.Asks())
	case m.Mark != rpc.PreVote && m.Term == before.Term && before.Spent:
		w.violated(invariant.OneLeader, "it asks for votes in term %d, in which it may no longer stand", m.Term)
	case m.Mark == rpc.Handed && w.session.Inability() != protocol.Able:
		w.violated(invariant.AbleLeads, "it takes over although it is not able to lead")
	case m.Ledger != w.node.ledger.end():
		w.violated(invariant.LeaderComplete, "its vote request claims that its ledger ends at %v", m.Ledger)
	}
}

func (w *execution) emit(to memberstate.Seat, m *protocol.Message) {
	if w.session.HardState != w.disk {
		w.violated(invariant.SavedBeforeSaid, "it sends %v before it has saved the state that the message depends on", m.Kind)
	}
	body := *m
	body.From = w.node.seat
	body.RoundTrip = 0
	w.sent = append(w.sent, message{to: to, body: body})
}

// Arm sets the alarm, which may ring at any time unless it keeps a promise.
func (w *execution) Arm(a protocol.Alarm) {
	w.alarm = a.Number
	if w.model.bounds.Leases {
		w.node.setAlarmWait(a.Min, w.session.Role, w.starts)
	}
}

// Show checks that the view is durable.
func (w *execution) Show(v protocol.View) {
	w.shown = v.Role
	if v.Term > w.disk.Term || v.Term == w.disk.Term && v.Vote != w.disk.Vote && v.Vote != memberstate.Nobody {
		w.violated(invariant.SavedBeforeSaid, "it publishes a state that it has not saved: term %d, with a vote for %s", v.Term, seatName(v.Vote))
	}
}

// Nothing else matters here.
func (w *execution) Judge(rpc.Mark, protocol.Judgement) {}
func (w *execution) Drop(protocol.Drop)                 {}
