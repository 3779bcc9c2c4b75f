// A step of a node, by the executor that is shipped; and what must hold of it.

package explore

import (
	"fmt"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation"
)

// stepping is a step under way. It implements protocol.MachineEffects.
type stepping struct {
	model  *model
	node   *node
	before node
	back   renaming // to the seats that the members have
	from   memberstate.Seat
	late   bool // nobody waits for the answer
	starts bool
	alarm  uint32 // the number of the newest one that was set; 0: none was
	says   []message
	disk   memberstate.HardState // what is durable
	saved  bool
	beyond bool
	defect defect
}

// start begins an incarnation with what is durable. The engine has kept its ledger, and
// forgotten its promise.
func (w *stepping) start() {
	n, r := w.node, &w.model.rules[w.node.index()]
	durable := n.machine.HardState
	n.machine, n.promised, w.starts = protocol.NewMachine(r, durable), 0, true
	x := protocol.Execution{Input: protocol.Input{Kind: protocol.Start}}
	x.Begin(&n.machine, r, w) // it says nothing
	switch now := n.machine.HardState; {
	case now.Term < durable.Term:
		w.blame(simulation.TermsRise, "it starts in term %d, and had saved term %d", now.Term, durable.Term)
	case now.Term > durable.Term:
		w.blame(simulation.LegalStep, "it starts in term %d, and has saved term %d", now.Term, durable.Term)
	case now.Vote != durable.Vote:
		w.blame(simulation.OneVote, "it starts in term %d with another vote than it has saved", now.Term)
	}
}

// hear gives the engine an append, which it takes if the elector lets it, and then
// acknowledges.
func (w *stepping) hear(msg *message) {
	n := w.node
	w.step(protocol.Input{Kind: protocol.Heard, Term: msg.body.Term, Seat: msg.body.Leader}, memberstate.Nobody)
	if w.defect.none() && n.machine.Term == msg.body.Term && n.machine.Leader == msg.body.Leader && n.promised <= msg.body.Term {
		if !n.ledger.holds(msg.ledger) {
			n.ledger = msg.ledger
		}
		w.says = append(w.says, message{to: msg.body.From, engine: true, ledger: msg.ledger, body: protocol.Message{
			From: n.seat, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Term: msg.body.Term},
		}})
	}
}

// step gives the machine an input, and what follows from it at once: an engine returns
// from Lead when it is told to, and pauses its writes when it is asked.
func (w *stepping) step(in protocol.Input, from memberstate.Seat) {
	n, r := w.node, &w.model.rules[w.node.index()]
	before := n.machine
	x := protocol.Execution{Input: in}
	w.from, w.disk = from, before.HardState
	need := x.Begin(&n.machine, r, w)
	for asked := 0; need == protocol.NeedLedger; asked++ {
		if asked == mostLedgers {
			w.blame(simulation.NeverStuck, "it asks for its ledger for term %d again and again", x.Output.LedgerTerm)
			return
		}
		n.promised = max(n.promised, x.Output.LedgerTerm)
		need = x.Ledger(&n.machine, r, w, n.ledger.end())
	}
	switch {
	case need == protocol.NeedStop:
		w.blame(simulation.LegalStep, "%v", x.Output.Err)
		return
	case need == protocol.NeedSave:
		w.saves(&before)
		x.Saved(w)
	case n.machine.HardState != before.HardState:
		w.blame(simulation.LegalStep, "its hard state changed, and is not saved")
	}
	w.look(&before, &x)
	phase, _ := n.machine.Handover()
	switch {
	case phase == protocol.Pausing:
		w.step(protocol.Input{Kind: protocol.Paused}, memberstate.Nobody)
	case n.machine.Serving() && n.machine.Role != memberstate.Leader:
		w.step(protocol.Input{Kind: protocol.Served, Number: n.machine.Beat()}, memberstate.Nobody)
	}
}

// mostLedgers is how often a step may ask where the ledger ends.
const mostLedgers = 4

// saves is when what was decided is on the disk.
func (w *stepping) saves(before *protocol.Machine) {
	now := w.node.machine.HardState
	w.saved, w.disk = true, now
	switch {
	case now.Term < before.Term:
		w.blame(simulation.TermsRise, "its term falls from %d to %d", before.Term, now.Term)
	case now.Term == before.Term && before.Vote != memberstate.Nobody && now.Vote != before.Vote:
		w.blame(simulation.OneVote, "it votes for another one in term %d", now.Term)
	}
}

// look holds what the machine is now against what it was.
func (w *stepping) look(before *protocol.Machine, x *protocol.Execution) {
	n, q := w.node, &x.Input.Message
	switch now := &n.machine; {
	case x.Input.Kind == protocol.Receive && q.Kind == rpc.VoteRequest && q.Mark == rpc.PreVote && *now != *before:
		w.blame(simulation.LegalStep, "to be asked for a pre-vote changes it")
	case x.Input.Kind == protocol.Ring && x.Output.Alarm.Number == 0 && !w.beyond:
		w.blame(simulation.NeverStuck, "its alarm rang, and no other is set")
	}
	if term := n.machine.Term; n.machine.Role == memberstate.Leader && (before.Role != memberstate.Leader || before.Term != term) {
		w.says = append(w.says, victory(n.seat, term))
	}
}

func (w *stepping) blame(invariant simulation.Invariant, format string, args ...any) {
	if w.defect.none() {
		w.defect = defect{invariant, fmt.Sprintf(format, args...)}
	}
}

// taken is what has come of it.
func (w *stepping) taken() taken {
	n, m := w.node, w.model
	if w.beyond || n.machine.Term > memberstate.Term(m.bounds.Terms) || n.machine.Beat() > uint32(m.bounds.Beats) {
		return taken{beyond: true}
	}
	if !w.defect.none() {
		return taken{defect: w.defect}
	}
	now := n.renamed(w.back)
	ballot, _, _ := n.machine.Open()
	t := taken{node: m.intern(&now), saved: w.saved, ended: w.before.open() && ballot != thisRound}
	for _, msg := range w.says {
		if w.numbered(&msg.body, ballot) {
			t.says = append(t.says, m.message(msg.renamed(w.back)))
		}
	}
	return t
}

// numbered gives a message of a round of votes the number that the model has for it, and
// says whether it need be kept.
func (w *stepping) numbered(b *protocol.Message, ballot uint32) bool {
	forgets := w.model.forgets()
	switch {
	case b.Result != 0 && b.Mark != rpc.Vouched:
		return !w.model.comesAnyway(b, w.node.machine.Term)
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
	w.votes(w.from, m)
	if !w.late {
		w.say(w.from, m)
	}
}

// votes looks at a vote that is said to be given.
func (w *stepping) votes(to memberstate.Seat, m *protocol.Message) {
	if m.Kind == rpc.VoteResponse && m.Result == rpc.Accept && m.Mark != rpc.PreVote && (w.disk.Term != m.Asked || w.disk.Vote != to) {
		w.blame(simulation.OneVote, "it says that it votes, and does not")
	}
}

// Send sends a message to each of a set of members: to all others, or to one.
func (w *stepping) Send(to memberstate.Set, m *protocol.Message) {
	if m.Kind == rpc.VoteRequest {
		w.asks(m)
	}
	w.node.sent(m)
	if to.Len() == 1 && w.model.bounds.Members > 2 {
		for seat := range to.Seats() {
			w.votes(seat, m)
			w.say(seat, m)
		}
		return
	}
	w.say(memberstate.Nobody, m)
}

// asks looks at a request for votes.
func (w *stepping) asks(m *protocol.Message) {
	before := &w.before.machine
	switch {
	case m.Term > memberstate.Term(w.model.bounds.Terms):
		w.beyond = true
	case m.Mark != rpc.PreVote && m.Term == before.Term && before.Spent:
		w.blame(simulation.OneLeader, "it asks for votes in term %d, which is spent", m.Term)
	case m.Ledger != w.node.ledger.end():
		w.blame(simulation.LeaderComplete, "it asks for votes with a ledger that ends at %v", m.Ledger)
	}
}

func (w *stepping) say(to memberstate.Seat, m *protocol.Message) {
	if w.node.machine.HardState != w.disk {
		w.blame(simulation.SavedBeforeSaid, "it says %v before it has saved what that is about", m.Kind)
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
		w.node.waits(a.Min, w.starts)
	}
}

// Withdraw, Publish, Judge and Drop need nothing here.
func (w *stepping) Withdraw()                         {}
func (w *stepping) Publish()                          {}
func (w *stepping) Judge(rpc.Mark, elector.Judgement) {}
func (w *stepping) Drop(elector.Drop)                 {}
