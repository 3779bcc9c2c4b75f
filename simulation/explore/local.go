// What one node can do next that others can notice, given what it may hear.

package explore

import (
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// localKey is a node with what it may hear, and the largest term of the others, which is
// what they can have said in answers to rounds that are over.
type localKey struct {
	node  nodeID
	most  memberstate.Term
	heard said
}

// local is what a node can do.
type local struct {
	next []successor
	says []messageID // without a change: said at once
	// up is what the node becomes at once, saying upSays, since it can silently come back;
	// 0: nothing.
	up     nodeID
	upSays []messageID
	wrong  *wrong
	lease  bool // it can silently come to hold one

	silent, others uint32 // how many nodes it can become silently, and what they can do but hear
}

// steps is how many steps there are, if it may hear so much.
func (l *local) steps(heard *said) uint64 {
	return uint64(l.silent)*uint64(heard.len()) + uint64(l.others)
}

// successor is one thing that a node can do: any silent steps, and one that is noticed.
type successor struct {
	node  nodeID
	says  []messageID
	ended bool // the round of votes that was under way is over
	after int  // of the silent ones: its place among them
	input inputID
}

// wrong is a step that breaks an invariant.
type wrong struct {
	defect defect
	after  int
	input  inputID
}

// nothing is no input.
const nothing inputID = 0

// local is what a node can do.
func (m *model) local(key *localKey) *local {
	if l := m.registry.locals.find(m, key); l != nil {
		return l
	}
	return m.workLocal(key)
}

func (m *model) workLocal(key *localKey) *local {
	l := &local{}
	w := wandering{model: m, key: key, local: l, base: m.spare[0][:0]}
	w.wander()
	m.spare[0] = w.base
	if !m.bounds.NoCrash {
		w.crash()
	}
	m.goUp(l, key.node)
	l.lease = slices.ContainsFunc(w.base, func(b silent) bool { return m.nodes[b.node].holdsLease() })
	w.thin()
	return m.registry.locals.keep(&w, l)
}

// crash has the node crash. That is no silent step, though nobody is told: what it knew is
// lost, so it cannot be taken later just as well.
func (w *wandering) crash() {
	t := &w.model.take(w.key.node, w.model.crashing)[0]
	switch {
	case t.beyond:
	case t.defect.none():
		w.local.add(successor{node: t.node, ended: t.ended, input: w.model.crashing})
	case w.local.wrong == nil:
		w.local.wrong = &wrong{t.defect, 0, w.model.crashing}
	}
}

func (l *local) add(s successor) {
	if !slices.ContainsFunc(l.next, func(k successor) bool { return k.node == s.node && k.ended == s.ended && slices.Equal(k.says, s.says) }) {
		l.next = append(l.next, s)
	}
}

// goUp finds what the node becomes at once: a candidate that waits asks for pre-votes, if
// the end of its patience leads back to where it is now.
func (m *model) goUp(l *local, id nodeID) {
	ring := m.own[m.nodes[id].index()][0]
	asks := m.take(id, ring)
	if t := &asks[0]; len(asks) == 1 && !t.saved && !t.beyond && t.defect.none() && !t.ended && len(t.says) > 0 && t.node != id {
		back := m.take(t.node, ring)
		if b := &back[0]; len(back) == 1 && b.node == id && !b.saved && len(b.says) == 0 && !b.beyond && b.defect.none() {
			l.up, l.upSays = t.node, t.says
		}
	}
}

// thin takes out what others cover: where a node gets to by a step that it could have
// taken before the silent ones, it is still to come to those.
func (w *wandering) thin() {
	l, m := w.local, w.model
	l.next = slices.DeleteFunc(l.next, func(s successor) bool {
		return !s.ended && contains(l.says, s.says) && m.marks.has(s.node, false)
	})
	gone, reached := make([]bool, len(l.next)), make([][]nodeID, len(l.next))
	for i := range l.next {
		s := &l.next[i]
		for j := range l.next {
			o := &l.next[j]
			if i == j || gone[j] || o.ended != s.ended || !slices.Equal(o.says, s.says) || o.node == s.node {
				continue
			}
			if reached[j] == nil {
				reached[j] = w.reach(o)
			}
			if _, gone[i] = slices.BinarySearch(reached[j], s.node); gone[i] {
				break
			}
		}
	}
	kept := l.next[:0]
	for i := range l.next {
		if !gone[i] {
			kept = append(kept, l.next[i])
		}
	}
	l.next = slices.Clone(kept)
}

func contains(all, some []messageID) bool {
	return !slices.ContainsFunc(some, func(id messageID) bool { return !slices.Contains(all, id) })
}

// reach is what a node can become, and the nodes that were asked to find out.
type reach struct{ nodes, asked []nodeID }

// reach is what a node can become silently after a successor's step, without the end of its
// round, in order.
func (w *wandering) reach(s *successor) []nodeID {
	m := w.model
	key := &m.after
	*key = localKey{node: s.node, most: w.key.most, heard: w.key.heard}
	if s.ended {
		key.heard = key.heard.without(&m.round[m.nodes[s.node].index()])
	}
	reached := m.registry.reached.find(m, key)
	if reached == nil {
		after := wandering{model: m, key: key, base: m.spare[1][:0]}
		after.wander()
		m.spare[1] = after.base
		reached = m.registry.reached.keep(&after, &reach{after.unended(), after.on[0].nodes})
	}
	matters := m.registry.reached.mattersTo(key.node)
	w.matters.join(&matters)
	w.on = append(w.on, asked{reached.asked, s.ended})
	return reached.nodes
}
