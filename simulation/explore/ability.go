// Ability is not remembered: no state knows which members are able to lead (D26).
//
// The intuition: n1 follows, and its engine hangs. That changes what n1 says of itself and when it stands, and
// alarms may ring at any time. So a node whose engine hangs would be a second node that can do less than the
// first. And every member would remember who else is not able, and every answer and heartbeat would say it: there
// would be many times as many nodes and messages.
//
// Instead every input is given to a node in every state of ability that makes a difference to the code, and the
// results are those of all. This is sound even if the code is wrong, because a real node is in one of these
// states. That a member's ability changes is an input, too. For most nodes it has no effect, and makes a leader
// hand over.
//
// The cases:
//
//   - Why the member is not able. The machine tells four reasons apart: none; one for which its engine still
//     answers; one for which it hangs; and that it has recovered only just now. An input that gives it a reason
//     that it has gives it another one of the same kind.
//   - Which others are not able, as far as it knows. A leader looks for an heir, the first of those that can lead.
//     So it knows that all others can, that none can, or that one alone can, which is then the heir.
//   - Whether a leader's back-off allows it to hand over. That is a matter of time.
//   - A member that does not lead reads what it knows of others only to choose how long it waits. So it is tried
//     in four states of ability, in which each of these things has each of its values.
//   - Which members a message says are not able: in an answer, its sender or not; in a heartbeat, all or none.
//     Messages are kept without it.
//   - A search without stale messages, as Live is, remembers all of this. There more must not be possible than is.
//
// So a leader may hand over because it is not able, and in the next step act as one that is. A violation that needs
// this has no script.
//
// The shortcut that looks right and is wrong is to take all members for able, because ability decides nothing that
// safety needs. A leader whose engine hangs orders its heir to stand without a pause, and its lease must end first.
//
// A LedgerEnd that hangs is no state either. A leader's step that waits for it may be the last of the office. That is
// tried as another result of the step (hungResult).

package explore

import (
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// ability is what a state does not remember.
type ability struct {
	why    protocol.Inability // of the member
	unable memberstate.Set    // the others that are not able, as far as it knows
	// more says that a leader's back-off allows a handover, and that a message that arrives says of all that it can
	// that they are not able. No input needs both.
	more bool
}

// inabilities are one reason of each kind.
var inabilities = [...]protocol.Inability{protocol.Able, protocol.NotAbleUnhealthy, protocol.NotAbleDisk, protocol.NotAbleHold}

// abilities are all that a member is tried in, by whether it leads.
func abilities(members int, seat memberstate.Seat) (all [2][]ability) {
	others := memberstate.Set(1<<members - 1).Without(seat)
	unable := []memberstate.Set{0}
	if others != 0 {
		unable = append(unable, others)
	}
	for i, why := range inabilities {
		all[0] = append(all[0], ability{why, unable[i%len(unable)], i > 1})
	}
	for heir := range others.Seats() {
		if others.Len() > 1 {
			unable = append(unable, others.Without(heir))
		}
	}
	for _, why := range inabilities {
		for _, some := range unable {
			all[1] = append(all[1], ability{why, some, false}, ability{why, some, true})
		}
	}
	return all
}

// forgetsAbility says whether ability is no part of a state.
func (m *model) forgetsAbility() bool { return m.bounds.Ability && m.forgetsLate() }

// asItIs is the only way to try a node that is as it is.
var asItIs = make([]ability, 1)

// abilitiesOf are those in which a node is tried.
func (m *model) abilitiesOf(n *node) []ability {
	switch {
	case !m.forgetsAbility():
		return asItIs
	case n.session.Role == memberstate.Leader:
		return m.abilities[n.index()][1]
	}
	return m.abilities[n.index()][0]
}

// in gives a machine this ability.
func (a *ability) in(m *model, machine protocol.Machine) protocol.Machine {
	if !m.forgetsAbility() {
		return machine
	}
	return machine.WithAbility(a.why, a.unable, a.more)
}

// said adds to a message which members are not able.
func (a *ability) said(msg *protocol.Message, voters memberstate.Set) {
	switch {
	case !a.more:
	case msg.Kind == rpc.Heartbeat:
		msg.Unable = voters
	case msg.Result != 0:
		msg.Unable = memberstate.SetOf(msg.From)
	}
}

// inVain says in words that LedgerEnd hangs.
const inVain = ", and LedgerEnd does not return in time"

// becomes gives the session an input by which its member's ability changes. If it has the reason already, it gets
// another one of the same kind.
func (w *execution) becomes(why protocol.Inability) {
	switch now := w.session.Inability(); {
	case why == protocol.NotAbleHold && now == protocol.Able:
		return // it has been able all the time
	case why == now && now == protocol.NotAbleUnhealthy:
		why = protocol.NotAbleOrdered
	case why == now && now == protocol.NotAbleDisk:
		why = protocol.NotAbleSilent
	}
	w.begin(protocol.Input{Kind: protocol.Ability, Inability: why})
}

// inabilityOf is the reason that an input gives.
func inabilityOf(kind inputKind) protocol.Inability { return inabilities[kind-isAble] }

// hanging says whether something hangs, so that nothing must be asked of it.
func hanging(why protocol.Inability) bool {
	return why == protocol.NotAbleDisk || why == protocol.NotAbleSilent
}

// waitsForLedger has events come while a step waits for LedgerEnd, which may hang: then a leader's office ends. If the
// step is to adopt a larger term, the office has ended already.
func (w *execution) waitsForLedger() {
	mayHang := w.model.bounds.Ability && w.session.Role == memberstate.Leader && w.step.Output.LedgerTerm <= w.session.Term
	if !mayHang || !w.ledgerHangs {
		w.waited = w.waited || mayHang && !w.hung
		w.interleave()
		return
	}
	w.interleave()
	w.ledgerHangs, w.hung, w.waited = false, true, false
	w.session.LosesOffice(&w.step, w)
	w.checkEnded()
	w.interleave()
}

// hungResult is the result of something that happens to a node, if LedgerEnd hangs the first time that a leader's
// step waits for it. Then the step has no effect, and the office ends.
func (m *model) hungResult(n *node, back renaming, events int, apply func(*execution)) []stepResult {
	return m.runStep(n, noNode, back, min(events, fewEvents), func(w *execution) {
		w.ledgerHangs = true
		apply(w)
	})
}

// firstInabilities are what may be said of members before all else in a script, because a leader whose back-off is to
// allow a handover at once must not have been able when it was elected: nothing, or that one member is not able.
func (m *model) firstInabilities() (all [][]act) {
	all = [][]act{nil}
	for i := range m.bounds.Members {
		if m.bounds.Ability {
			all = append(all, []act{{kind: isUnwell, node: i}}, []act{{kind: hangs, node: i}})
		}
	}
	return all
}

// followAs is follow for a move that is possible only after the ability of its member has changed.
func (p *player) followAs(of move, last bool) []act {
	if !p.model.bounds.Ability || p.model.inputs[of.input].kind == clockTicks {
		return nil
	}
	node := int(of.name.of(p.model.nodes[of.after].seat)) - 1
	for kind := isAble; kind <= recovers; kind++ {
		first, q := act{kind: kind, node: node}, p.clone()
		if q.act(&first) != nil || !q.defect.none() || len(q.sent[len(q.sent)-1]) > 0 && q.nodes[node].session.Role == memberstate.Leader {
			continue
		}
		for _, a := range q.candidates(of) {
			if q.matches(&a, of, last) {
				return []act{first, a}
			}
		}
	}
	return nil
}

// orInVain are these acts and, if they are a leader's, those in which LedgerEnd hangs.
func (p *player) orInVain(all []act) []act {
	if p.model.bounds.Ability && len(all) > 0 && p.nodes[all[0].node].session.Role == memberstate.Leader {
		for _, a := range slices.Clone(all) {
			a.inVain = true
			all = append(all, a)
		}
	}
	return all
}
