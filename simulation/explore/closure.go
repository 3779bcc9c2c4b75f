// Silent steps wait: the closure of a node under steps that no other node notices.
//
// The intuition: a step is silent if it sends nothing and makes nothing durable. For example, a follower
// whose alarm has rung becomes a candidate. No other node can notice that, so it makes no difference
// whether it happens now or after n1 has done something: what the step needs, an alarm or a message
// that was sent, will still be there. So the explorer has no transition for it. A node in a state stands for its
// closure, which is everything that it can become by silent steps. A transition is any number of silent steps
// of one node and then one step that others can notice.
//
// The cases:
//
//   - The step needs no message that was sent: its alarm rings, its engine or an operator does
//     something, or a stale message arrives. These steps give the closure in this file. It depends only on the
//     node and on the largest term that the others have reached, and is worked out once.
//   - The step needs a message that was sent. closure_search.go adds these steps: it goes from the closure of a
//     node, by each message that the node may receive, to further closures. What one message does to all nodes of a
//     closure (its reaction) is worked out once, too.
//   - A crash is silent: what is durable stays so until the next step that others notice. It is not
//     silent where time passes, because a process that has started again waits from then on, and it
//     matters how long ago that was. There a crash is a transition of its own (successors.go).
//   - Time passes for all nodes at once. A silent step before a tick can as well come after it.
//   - A silent step begins a lease. The check of leases uses the longest one in each closure, because a lease
//     that a member could hold must be as sound as one that it holds.
//
// The shortcut that looks right and is wrong is to keep only the last nodes of a closure, those that have nothing
// silent left to do. A silent step gives things up: a candidate that has begun a new round does not
// count the answers to the old one any more, so the node before the step must be able to go on, too.
//
// What it saves: the closure of a candidate among five has up to twelve thousand nodes, and each of them would
// otherwise be a state of its own, combined with those of the other four.

package explore

import (
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// closure is everything that a node can become by silent steps that need no message, and the steps that
// others can notice from there, now and after a message.
type closure struct {
	othersTerm memberstate.Term // the largest term of the others
	nodes      []silentNode     // itself first
	steps      []closureStep
	terms      uint8 // the terms that stale messages in it need, as bits
	lease      int   // ticks of the longest lease in it

	// Reactions to messages, as far as they were asked for. A message does nothing, something, or
	// something of which a part is silent.
	reactions                         [][]closureStep // by message
	noEffect, effective, partlySilent messageSet
}

// silentNode is a node after silent steps.
type silentNode struct {
	node        nodeID
	predecessor int32 // the place of the node before the last step
	input       inputID
	inputs      uint32 // how many inputs can happen to it at any time
	ended       bool   // the round of votes that was under way is over
}

// closureStep is a step from a node of a closure. Of steps with the same result there is one.
type closureStep struct {
	stepResult
	lastStep
}

// closureOf returns the closure of a node, which each worker works out once. Without this cache a search
// takes 36 % more CPU time and half as much memory again.
func (m *model) closureOf(id nodeID, most memberstate.Term) *closure {
	for len(m.closures) <= int(id) {
		m.closures = append(m.closures, [mostTerms + 1]*closure{})
	}
	if m.closures[id][most] == nil {
		m.closures[id][most] = m.computeClosure(id, most)
	}
	return m.closures[id][most]
}

func (m *model) computeClosure(id nodeID, most memberstate.Term) *closure {
	d := &closure{othersTerm: most}
	m.closureMarks.clear()
	d.add(m, silentNode{node: id})
	for looked := 0; looked < len(d.nodes); looked++ { //nolint:intrange // the list grows
		d.expand(m, looked)
	}
	d.nodes = slices.Clip(d.nodes)
	return d
}

// add adds a node to the closure, if it is new.
func (d *closure) add(m *model, s silentNode) {
	if m.closureMarks.add(s.node, s.ended) {
		s.inputs = m.unpromptedOf(s.node).inputs[d.othersTerm]
		d.nodes = append(d.nodes, s)
		d.lease = max(d.lease, m.nodes[s.node].leaseLeft())
	}
}

// expand gives a node of the closure all its unprompted inputs.
func (d *closure) expand(m *model, i int) {
	before := d.nodes[i]
	always := m.unpromptedOf(before.node)
	d.terms |= always.terms
	for _, e := range always.events {
		switch {
		case e.term > d.othersTerm: // and so are the rest
			return
		case e.node != 0:
			d.add(m, silentNode{node: e.node, ended: before.ended || e.ended, predecessor: int32(i), input: e.input})
			continue
		}
		for _, t := range m.results[e.result] {
			if t.ended = t.ended || before.ended; t.silent() {
				d.add(m, silentNode{node: t.node, ended: t.ended, predecessor: int32(i), input: e.input})
			} else {
				d.steps = addClosureStep(d.steps, closureStep{t, lastStep{i, e.input}})
			}
		}
	}
}

// addClosureStep adds a step, unless another one has the same result.
func addClosureStep(all []closureStep, d closureStep) []closureStep {
	if d.outOfBounds || slices.ContainsFunc(all, func(other closureStep) bool { return other.equals(d.stepResult) }) {
		return all
	}
	return append(all, d)
}

// findReactions finds the reactions to messages, as far as they are not known.
func (d *closure) findReactions(m *model, received *messageSet) {
	rest := received.without(&d.noEffect)
	rest = rest.without(&d.effective)
	for id := range rest.all {
		for len(d.reactions) <= int(id) {
			d.reactions = append(d.reactions, nil)
		}
		if d.reactions[id] = d.reaction(m, id); d.reactions[id] == nil {
			d.noEffect.add(id)
			continue
		}
		d.effective.add(id)
		if slices.ContainsFunc(d.reactions[id], func(d closureStep) bool { return d.silent() || !d.defect.none() }) {
			d.partlySilent.add(id)
		}
	}
}

// reaction is what a message does to the nodes of the closure. A silent result is left out if it is in
// the closure, or in that of another result.
func (d *closure) reaction(m *model, id messageID) (does []closureStep) {
	in := m.delivery(id)
	marks := &m.reactionMarks
	marks.clear()
	d.mark(marks, false)
	for i := range d.nodes {
		b := &d.nodes[i]
		for _, t := range m.resultsOf(b.node, in) {
			if !t.noticed(b.node) {
				continue
			}
			t.ended = t.ended || b.ended
			switch {
			case !t.silent():
				does = addClosureStep(does, closureStep{t, lastStep{i, in}})
			case !marks.has(t.node, t.ended):
				m.closureOf(t.node, d.othersTerm).mark(marks, t.ended)
				does = append(does, closureStep{t, lastStep{i, in}})
			}
		}
	}
	return does
}

// mark marks all nodes of the closure. It returns how many are new, and how many inputs can happen to those
// at any time.
func (d *closure) mark(marks *marks, ended bool) (added, inputs uint32) {
	for i := range d.nodes {
		if b := &d.nodes[i]; marks.add(b.node, ended || b.ended) {
			added, inputs = added+1, inputs+b.inputs
		}
	}
	return added, inputs
}
