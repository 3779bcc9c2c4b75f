// A step of a node, by the executor that is shipped.

package explore

import (
	"fmt"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// stepping is a step under way. It implements elector.Effects.
type stepping struct {
	model  *model
	node   *node
	before node
	from   memberstate.Seat
	says   []messageID
	disk   memberstate.HardState // what is durable
	saved  bool
	wrong  string
}

// step gives the machine an input, and what follows from it at once: an engine returns
// from Lead when it is told to, and pauses its writes when it is asked.
func (w *stepping) step(in elector.Input, from memberstate.Seat) {
	n, r := w.node, &w.model.rules[w.node.seat-1]
	before := n.machine
	x := elector.Execution{Input: in}
	w.from, w.disk = from, before.HardState
	need := x.Begin(&n.machine, r, w)
	for asked := 0; need == elector.NeedLedger; asked++ {
		if asked == mostLedgers {
			w.blame("it asks for its ledger for term %d again and again", x.Output.LedgerTerm)
			return
		}
		n.promised = max(n.promised, x.Output.LedgerTerm)
		need = x.Ledger(&n.machine, r, w, n.ledger.end())
	}
	if need == elector.NeedStop {
		w.blame("%v", x.Output.Err)
		return
	}
	if need == elector.NeedSave {
		w.saves()
		x.Saved(w)
	} else if n.machine.HardState != before.HardState {
		w.blame("its hard state changed, and is not saved")
	}
	w.look(&before)
	phase, _ := n.machine.Handover()
	switch {
	case phase == elector.Pausing:
		w.step(elector.Input{Kind: elector.Paused}, memberstate.Nobody)
	case n.machine.Serving() && n.machine.Role != memberstate.Leader:
		w.step(elector.Input{Kind: elector.Served}, memberstate.Nobody)
	}
}

// mostLedgers is how often a step may ask where the ledger ends.
const mostLedgers = 4

// saves is when what was decided is on the disk.
func (w *stepping) saves() {
	n := w.node
	w.saved, w.disk = true, n.machine.HardState
	if given := &n.votes[min(n.machine.Term, 7)]; n.machine.Vote != memberstate.Nobody {
		if *given != memberstate.Nobody && *given != n.machine.Vote {
			w.blame("it votes for n%d in term %d, and has voted for n%d", n.machine.Vote-1, n.machine.Term, *given-1)
		}
		*given = n.machine.Vote
	}
}

// look holds what the machine is now against what it was.
func (w *stepping) look(before *elector.Machine) {
	n := w.node
	if n.machine.Term < before.Term {
		w.blame("its term falls from %d to %d", before.Term, n.machine.Term)
	}
	if n.machine.Role != memberstate.Leader || before.Role == memberstate.Leader && before.Term == n.machine.Term {
		return
	}
	if bit := uint8(1) << min(n.machine.Term, 7); n.led&bit != 0 {
		w.blame("it leads term %d a second time", n.machine.Term)
	} else {
		n.led |= bit
	}
}

func (w *stepping) blame(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf("n%d: %s", w.node.seat-1, fmt.Sprintf(format, args...))
	}
}

// taken is what has come of it.
func (w *stepping) taken(id nodeID) *taken {
	n, b := w.node, &w.model.bounds
	ballot, beat := n.machine.Rounds()
	if n.machine.Term > memberstate.Term(b.Terms) || ballot > b.Ballots || beat > b.Beats {
		return &taken{node: id, beyond: true}
	}
	if w.wrong != "" {
		return &taken{node: id, wrong: w.wrong}
	}
	t := &taken{node: w.model.node(n), says: w.says}
	if w.saved && !b.NoCrash {
		// The disk has what was decided, and nobody has heard of it.
		crashed := *n
		crashed.led = w.before.led
		t.crashed = w.model.start(&crashed)
	}
	return t
}

// Reply answers the message that was the input.
func (w *stepping) Reply(m *elector.Message) { w.say(w.from, m) }

// Send sends a message to each of a set of members.
func (w *stepping) Send(to memberstate.Set, m *elector.Message) {
	for seat := range to.Seats() {
		w.say(seat, m)
	}
}

func (w *stepping) say(to memberstate.Seat, m *elector.Message) {
	if w.node.machine.HardState != w.disk {
		w.blame("it says %v before it has saved what that is about", m.Kind)
	}
	body := *m
	body.From = w.node.seat
	body.RoundTrip = 0
	if int(body.Term) > w.model.bounds.Terms+1 {
		return // nobody can act on it within the bounds
	}
	w.says = append(w.says, w.model.message(message{to: to, body: body}))
}

// Withdraw, Publish, Arm, Judge and Drop need nothing here: every alarm may ring at any
// time.
func (w *stepping) Withdraw()                         {}
func (w *stepping) Publish()                          {}
func (w *stepping) Arm(elector.Alarm)                 {}
func (w *stepping) Judge(rpc.Mark, elector.Judgement) {}
func (w *stepping) Drop(elector.Drop)                 {}

// wrong says which invariant a state breaks, if any.
func (m *model) wrong(s *state, members int) string {
	for i := range members {
		for j := range i {
			if both := m.nodes[s.nodes[i]].led & m.nodes[s.nodes[j]].led; both != 0 {
				return fmt.Sprintf("n%d and n%d have led the same term (%b)", j, i, both)
			}
		}
	}
	for i := range members {
		if n := &m.nodes[s.nodes[i]]; n.machine.Role == memberstate.Leader {
			if what := m.wrongLeader(s, n, members); what != "" {
				return what
			}
		}
	}
	return ""
}

// wrongLeader looks at a leader: a quorum has voted for it, and what was committed in
// earlier terms is in its ledger.
func (m *model) wrongLeader(s *state, n *node, members int) string {
	votes, quorum := 0, memberstate.Quorum(memberstate.Set(1<<members-1))
	for i := range members {
		if m.nodes[s.nodes[i]].votes[min(n.machine.Term, 7)] == n.seat {
			votes++
		}
	}
	if votes < quorum {
		return fmt.Sprintf("n%d leads term %d with %d votes", n.seat-1, n.machine.Term, votes)
	}
	if m.bounds.Entries == 0 {
		return ""
	}
	acks := map[ledgerAt]int{}
	for id := range m.messages {
		msg := &m.messages[id]
		if msg.engine && msg.body.Kind == rpc.HeartbeatResponse && s.said.has(messageID(id)) && msg.ledger.end().Term == msg.body.Term {
			acks[ledgerAt{msg.body.Term, msg.ledger}]++
		}
	}
	for at, others := range acks {
		if others+1 >= quorum && at.term < n.machine.Term && !n.ledger.holds(at.ledger) {
			return fmt.Sprintf("n%d leads term %d with the ledger %x, and %x was committed in term %d", n.seat-1, n.machine.Term, n.ledger, at.ledger, at.term)
		}
	}
	return ""
}

// ledgerAt is a ledger in a term.
type ledgerAt struct {
	term   memberstate.Term
	ledger ledger
}
