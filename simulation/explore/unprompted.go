// Unprompted steps: those that a node can take whatever it receives. Its alarm rings, its engine or an operator does
// something, or a stale message arrives. They are worked out once for each node, and inputs without an effect are
// left out, because going through this list is most of the work of a search. docs/verification.md says what it saves.

package explore

import (
	"cmp"
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// unpromptedSteps are those of one node.
type unpromptedSteps struct {
	events []event               // those that need no term come first
	inputs [mostTerms + 1]uint32 // how many there are, by the largest term of the others
	terms  uint8                 // the terms that some of them need, as bits
}

// event is the effect of an input. If the node only becomes another one, that is here; otherwise the effect is
// among the results of steps.
type event struct {
	node   nodeID // 0: see result
	result uint32
	input  inputID
	term   memberstate.Term // that the largest one of the others must reach
	ended  bool             // the round of votes that was under way is over
}

// unpromptedOf returns a node's unprompted steps, which are worked out once.
func (m *model) unpromptedOf(id nodeID) *unpromptedSteps {
	for len(m.unprompted) <= int(id) {
		m.unprompted = append(m.unprompted, nil)
	}
	if m.unprompted[id] == nil {
		m.unprompted[id] = m.registry.unprompted.of(id, m, m.computeUnprompted)
	}
	return m.unprompted[id]
}

func (m *model) computeUnprompted(id nodeID) *unpromptedSteps {
	a := &unpromptedSteps{}
	for _, in := range m.own[m.nodes[id].index()] {
		m.addEvent(a, id, event{input: in}, m.resultsOf(id, in))
	}
	late := slices.Clone(m.staleInputs(id))
	term := func(in inputID) memberstate.Term { return termNeeded(&m.registry.stale[m.inputs[in].staleIndex]) }
	slices.SortStableFunc(late, func(x, y inputID) int { return cmp.Compare(term(x), term(y)) })
	for _, in := range late {
		m.addEvent(a, id, event{input: in, term: term(in)}, m.computeResults(id, m.inputs[in]))
	}
	a.events = slices.Clip(a.events)
	return a
}

// termNeeded is the term that another member must be in if the message was sent. A member that asks for a
// pre-vote is not yet in the term in which it would stand.
func termNeeded(msg *protocol.Message) memberstate.Term {
	if msg.Kind == rpc.VoteRequest && msg.Mark == rpc.PreVote {
		return 0
	}
	return msg.Term
}

// addEvent adds an event of a node, unless it has no effect.
func (m *model) addEvent(a *unpromptedSteps, id nodeID, e event, all []stepResult) {
	a.terms |= 1 << e.term
	for term := e.term; term <= mostTerms; term++ {
		a.inputs[term]++
	}
	switch t := &all[0]; {
	case len(all) > 1 || !t.defect.none() || !t.outOfBounds && (t.saved || len(t.sent) > 0):
		e.result = m.numberResults(id, all)
	case t.outOfBounds || t.node == id && !t.ended:
		return
	default:
		e.node, e.ended = t.node, t.ended
	}
	a.events = append(a.events, e)
}
