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

// stepping is a step under way. It implements protocol.Effects, together with driver.go.
type stepping struct {
	model        *model
	node         *node
	before       node
	like         nodeID   // that the node may well have again; or none
	back         renaming // to the seats that the members have
	from         memberstate.Seat
	late         bool             // nobody waits for the answer
	lapsed       memberstate.Term // the session was told that the lease of this term has run out; 0: it was not
	toldToStand  bool             // it has told another member to stand
	starts       bool
	interleaving *interleaving // the events during its waits; nil: none
	queued       bool          // an order to resign, until the step under way is done
	withdrawn    bool          // the input was, before it changed anything
	ordered      inputKind     // the order that is being carried out; none: none is
	alarm        uint32        // the number of the newest one that was set; 0: none was
	says         []message
	saved        bool
	beyond       bool
	defect       defect

	room    node             // for the node, unless the caller has its own
	session protocol.Session // the node's, while it steps
	duties  protocol.Duties
	step    protocol.Step
	was     protocol.Machine      // before the step
	last    memberstate.State     // before the newest step of the machine
	disk    memberstate.HardState // what is durable
}

// stepOf begins a step of a node; back gives the members' true seats. There is one at a time.
func (m *model) stepOf(n *node, back renaming) *stepping {
	w := &m.stepping
	w.room = *n
	w.model, w.node, w.before, w.like, w.back, w.from = m, &w.room, *n, noNode, back, memberstate.Nobody
	w.late, w.lapsed, w.toldToStand, w.starts, w.saved, w.beyond = false, 0, false, false, false, false
	w.interleaving, w.queued, w.withdrawn, w.ordered = nil, false, false, none
	w.alarm, w.says, w.defect = 0, w.says[:0], defect{}
	return w
}

// start begins an incarnation with the durable state. The engine has kept its ledger, and forgotten its
// promise.
func (w *stepping) start() {
	n, r := w.node, &w.model.rules[w.node.index()]
	durable := n.session.HardState
	n.promised, n.driver, w.starts = 0, driver{}, true
	s := protocol.NewSession(r, durable, n.ledger.end(), durable.Term)
	n.session = s.Snapshot()
	w.happens(protocol.Input{Kind: protocol.Start}, rings, memberstate.Nobody) // it sends nothing
	switch now := n.session.HardState; {
	case now.Term < durable.Term:
		w.blame(invariant.TermsRise, "it starts in term %d, and had saved term %d", now.Term, durable.Term)
	case now.Term > durable.Term:
		w.blame(invariant.LegalStep, "it starts in term %d, and has saved term %d", now.Term, durable.Term)
	case now.Vote != durable.Vote:
		w.blame(invariant.OneVote, "it starts in term %d with another vote than it has saved", now.Term)
	}
}

// hear gives the engine an append. It takes the append if the elector lets it, and then acknowledges it.
func (w *stepping) hear(msg *message) {
	n := w.node
	w.happens(protocol.Input{Kind: protocol.Heard, Term: msg.body.Term, Seat: msg.body.Leader}, delivered, memberstate.Nobody)
	v := protocol.View{Term: n.session.Term, Leader: n.session.Leader}
	if w.defect.none() && v.Hears(msg.body.Term, msg.body.Leader) == protocol.HeardLeader && n.promised <= msg.body.Term {
		if !n.ledger.holds(msg.ledger) {
			n.ledger = msg.ledger
		}
		w.says = append(w.says, message{to: msg.body.From, engine: true, ledger: msg.ledger, body: protocol.Message{
			From: n.seat, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Term: msg.body.Term},
		}})
	}
}

// happens applies something to the node's session; for most kinds it is an input.
func (w *stepping) happens(in protocol.Input, kind inputKind, from memberstate.Seat) {
	n := w.node
	w.session, w.from = n.session.Session(&w.duties), from
	w.was, w.disk = w.session.Machine, w.session.HardState
	switch kind {
	case handsOver, resigns:
		w.order(in)
	case lapses, returns, pauses, fails, lags, callsOff, stays:
		if w.tell(kind) {
			w.attend()
		}
	case none:
		w.attend()
	default:
		w.give(in)
	}
	if w.queued && w.defect.none() {
		w.queued, w.ordered = false, resigns
		w.give(protocol.Input{Kind: protocol.Resign})
	}
	n.session = w.session.Snapshot()
	if w.defect.none() {
		w.checkState()
		w.checkDriver()
	}
}

// give gives the session an input.
func (w *stepping) give(in protocol.Input) {
	w.step = protocol.Step{Input: in}
	w.goOn(w.session.Begin(w.rules(), w.node.time.now, &w.step, w))
}

// attend makes the session go on with what has changed beside its steps.
func (w *stepping) attend() {
	w.step = protocol.Step{}
	w.goOn(w.session.Attend(w.rules(), w.node.time.now, &w.step, w))
}

func (w *stepping) rules() *protocol.Rules { return &w.model.rules[w.node.index()] }

// goOn does what the session waits for, until it waits for nothing.
func (w *stepping) goOn(need protocol.Need) {
	n, r, now := w.node, w.rules(), w.node.time.now
	for asked := 0; need != protocol.NeedNothing; {
		switch need {
		case protocol.NeedLedger:
			if asked++; asked > mostLedgers {
				w.blame(invariant.NeverStuck, "it asks for its ledger for term %d again and again", w.step.Output.LedgerTerm)
				return
			}
			n.promised = max(n.promised, w.step.Output.LedgerTerm)
			w.waits()
			need = w.session.Ledger(r, now, &w.step, w, n.ledger.end(), anyTerm)
		case protocol.NeedSave:
			w.checkLoss()
			w.waits()
			w.saved, w.disk = true, w.session.HardState
			need = w.session.Saved(r, now, &w.step, w)
		case protocol.NeedStop, protocol.NeedNothing:
			w.blame(invariant.LegalStep, "%v", w.step.Output.Err)
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
func (w *stepping) Before(*protocol.Input) { w.last = w.session.State }

func (w *stepping) After(x *protocol.Step) {
	if x.Output.NeedLedger {
		return
	}
	if wrong := check.Step(w.rules(), &w.last, &w.session.Machine, x); wrong != 0 {
		for broken, what := range wrong.All() {
			w.blame(broken, "%s, from %+v to %+v", what, w.last, w.session.State)
		}
	}
}

// Done checks the machine after an input.
func (w *stepping) Done() {
	x, q := &w.step, &w.step.Input.Message
	w.ordered = none
	w.checkState()
	if x.Input.Kind == protocol.Receive && q.Kind == rpc.VoteRequest && q.Mark == rpc.PreVote && w.session.Machine != w.was {
		w.blame(invariant.LegalStep, "a request for a pre-vote changes it")
	}
}

// checkState checks that the hard state is saved, and notes a victory.
func (w *stepping) checkState() {
	n, m := w.node, &w.session.Machine
	if m.HardState != w.disk {
		w.blame(invariant.LegalStep, "its hard state changed, and is not saved")
	}
	if m.Role == memberstate.Leader && (w.was.Role != memberstate.Leader || w.was.Term != m.Term) {
		if won := victory(n.seat, m.Term); !slices.Contains(w.says, won) {
			w.says = append(w.says, won)
		}
	}
}

func (w *stepping) blame(broken invariant.Invariant, format string, args ...any) {
	if w.defect.none() {
		w.defect = defect{broken, fmt.Sprintf(format, args...)}
	}
}

// stepResult is the effect by names.
func (w *stepping) stepResult() stepResult {
	r := w.effect()
	switch {
	case r.beyond:
		return stepResult{beyond: true}
	case !r.defect.none():
		return stepResult{defect: r.defect}
	}
	t := stepResult{node: w.model.internLike(&r.node, w.like), saved: w.saved, ended: r.ended}
	for i := range r.says {
		t.says = append(t.says, w.model.message(r.says[i]))
	}
	return t
}

// effect is the effect of the step.
func (w *stepping) effect() (r effect) {
	n, m := w.node, w.model
	w.leadEnds()
	if w.beyond || n.session.Term > memberstate.Term(m.bounds.Terms) || n.session.Beat() > uint32(m.bounds.Beats) {
		return effect{beyond: true}
	}
	if !w.defect.none() {
		return effect{defect: w.defect}
	}
	ballot, _, _ := n.session.Open()
	r = effect{node: n.renamed(w.back), ended: w.before.open() && ballot != thisRound}
	m.canonize(&r.node)
	for _, msg := range w.says {
		if w.numbered(&msg.body, ballot) {
			r.says = append(r.says, msg.renamed(w.back))
		}
	}
	return r
}

// numbered gives a message of a round of votes the number that it has in the model, and says whether the
// message must be kept.
func (w *stepping) numbered(b *protocol.Message, ballot uint32) bool {
	forgets := w.model.forgets()
	switch {
	case b.Result != 0 && b.Mark != rpc.Vouched:
		return !w.model.comesAnyway(b, w.node.session.Term)
	case b.Kind == rpc.VoteRequest && (b.Round == ballot || b.Mark != rpc.PreVote && forgets):
		b.Round = thisRound
	case b.Kind == rpc.VoteRequest:
		b.Round = roundOver
		return !forgets
	}
	return true
}

// Reply answers the message that was the input.
func (w *stepping) Reply(m *protocol.Message) {
	w.checkVote(w.from, m)
	if !w.late {
		w.say(w.from, m)
	}
}

// checkVote checks an answer that grants a vote.
func (w *stepping) checkVote(to memberstate.Seat, m *protocol.Message) {
	if m.Kind == rpc.VoteResponse && m.Result == rpc.Accept && m.Mark != rpc.PreVote && (w.disk.Term != m.Asked || w.disk.Vote != to) {
		w.blame(invariant.OneVote, "it says that it votes, and does not")
	}
}

// Send sends a message to all others, or to one.
func (w *stepping) Send(to memberstate.Set, m *protocol.Message) {
	if m.Kind == rpc.VoteRequest {
		w.checkRequest(m)
	}
	if m.Kind == rpc.TakeLeadership && m.Mark == rpc.Plain {
		w.checkHandover()
	}
	if to.Len() == 1 && w.model.bounds.Members > 2 {
		for seat := range to.Seats() {
			w.checkVote(seat, m)
			w.say(seat, m)
		}
		return
	}
	w.say(memberstate.Nobody, m)
}

// checkRequest checks a request for votes.
func (w *stepping) checkRequest(m *protocol.Message) {
	before := &w.before.session.Machine
	switch {
	case m.Term > memberstate.Term(w.model.bounds.Terms):
		w.beyond = true
	case w.node.driver.runs && before.Role != memberstate.Leader:
		w.blame(invariant.OneOffice, "it asks for votes, and its engine's Lead of term %d has not returned", w.node.driver.lead)
	case m.Mark != rpc.PreVote && m.Term == before.Term && before.Spent:
		w.blame(invariant.OneLeader, "it asks for votes in term %d, which is spent", m.Term)
	case m.Ledger != w.node.ledger.end():
		w.blame(invariant.LeaderComplete, "it asks for votes with a ledger that ends at %v", m.Ledger)
	}
}

func (w *stepping) say(to memberstate.Seat, m *protocol.Message) {
	if w.session.HardState != w.disk {
		w.blame(invariant.SavedBeforeSaid, "it says %v before it has saved what that is about", m.Kind)
	}
	body := *m
	body.From = w.node.seat
	body.RoundTrip = 0
	w.says = append(w.says, message{to: to, body: body})
}

// Arm sets the alarm, which may ring at any time unless it keeps a promise.
func (w *stepping) Arm(a protocol.Alarm) {
	w.alarm = a.Number
	if w.model.bounds.Leases {
		w.node.waits(a.Min, w.session.Role, w.starts)
	}
}

// Show checks that the view is durable.
func (w *stepping) Show(v protocol.View) {
	if v.Term > w.disk.Term || v.Term == w.disk.Term && v.Vote != w.disk.Vote && v.Vote != memberstate.Nobody {
		w.blame(invariant.SavedBeforeSaid, "it shows what it has not saved: term %d, with a vote for %s", v.Term, seatName(v.Vote))
	}
}

// Nothing else matters here.
func (w *stepping) Judge(rpc.Mark, protocol.Judgement) {}
func (w *stepping) Drop(protocol.Drop)                 {}
