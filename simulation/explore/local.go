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
	steps  uint32   // how many were looked at
	base   []silent // what it can become silently, itself first

	onlyBase bool // nothing else is wanted
	names    int  // that there were by then
}

// successor is one thing that a node can do: any silent steps, and one that is noticed.
type successor struct {
	node  nodeID
	says  []messageID
	ended bool // the round of votes that was under way is over
	after int  // of the silent ones: its place in base
	input inputID
}

// silent is a node after silent steps.
type silent struct {
	node  nodeID
	ended bool
	after int // place of the one before
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

// local is what a node can do, worked out by whoever asked first.
func (m *model) local(key localKey) *local {
	locals := m.registry.localsOf(&key)
	l := locals.find(&key)
	switch {
	case l == nil:
		l = m.workLocal(key)
		l.names = m.known()
		locals.keep(&key, l)
	case l.names > m.known():
		m.learn()
	}
	return l
}

func (m *model) workLocal(key localKey) *local {
	l := &local{}
	m.silently(l, &key)
	if !m.bounds.NoCrash {
		base := m.nodes[key.node]
		l.add(successor{node: m.crash(base), ended: base.open(), input: m.crashing})
	}
	m.goUp(l, key.node)
	m.thin(l, &key)
	return l
}

// silently takes all silent steps, which lead to l.base, and enters into l what can be
// noticed on the way.
func (m *model) silently(l *local, key *localKey) {
	own := m.own[m.nodes[key.node].index()]
	inputs := uint32(len(own) + key.heard.len())
	l.base = []silent{{node: key.node}}
	for i := 0; i < len(l.base) && l.wrong == nil; i++ {
		at := l.base[i].node
		l.steps += inputs
		for _, in := range own {
			m.enter(l, i, in, m.take(at, in))
		}
		heard := key.heard.without(m.inertTo(at))
		for id := range heard.all {
			in := m.delivery(id)
			all := m.take(at, in)
			if len(all) == 1 && !all[0].noticed(at) {
				m.inertTo(at).add(id)
			}
			m.enter(l, i, in, all)
		}
		for _, in := range m.staleInputs(at) {
			if m.stale[m.inputs[in].late].Term <= key.most {
				l.steps++
				m.enter(l, i, in, m.take(at, in))
			}
		}
	}
}

// inertTo are messages of which it is known that they do nothing to a node.
func (m *model) inertTo(id nodeID) *said {
	for int(id) >= len(m.inert) {
		m.inert = append(m.inert, said{})
	}
	return &m.inert[id]
}

// enter sorts what an input does in: as silent, as what only says something, or as what
// is noticed.
func (m *model) enter(l *local, at int, in inputID, all []taken) {
	before := l.base[at]
	for i := range all {
		t := &all[i]
		ended := before.ended || t.ended
		switch {
		case !t.defect.none():
			if l.wrong == nil {
				l.wrong = &wrong{t.defect, at, in}
			}
		case t.beyond:
		case len(t.says) == 0 && !t.saved:
			if !slices.ContainsFunc(l.base, func(s silent) bool { return s.node == t.node && s.ended == ended }) {
				l.base = append(l.base, silent{t.node, ended, at, in})
			}
		case l.onlyBase:
		case at == 0 && t.node == before.node && !t.saved && !t.ended:
			for _, id := range t.says {
				if !slices.Contains(l.says, id) {
					l.says = append(l.says, id)
				}
			}
		default:
			l.add(successor{t.node, t.says, ended, at, in})
		}
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
func (m *model) thin(l *local, key *localKey) {
	kept := l.next[:0]
	for i := range l.next {
		s := &l.next[i]
		if !s.ended && contains(l.says, s.says) && holds(l.base, s.node) {
			continue
		}
		kept = append(kept, *s)
	}
	l.next = kept
	gone, reached := make([]bool, len(l.next)), make([][]silent, len(l.next))
	for i := range l.next {
		s := &l.next[i]
		for j := range l.next {
			o := &l.next[j]
			if i == j || gone[j] || o.ended != s.ended || !slices.Equal(o.says, s.says) || o.node == s.node {
				continue
			}
			if reached[j] == nil {
				reached[j] = m.reach(o, key)
			}
			if gone[i] = holds(reached[j], s.node); gone[i] {
				break
			}
		}
	}
	kept = l.next[:0]
	for i := range l.next {
		if !gone[i] {
			kept = append(kept, l.next[i])
		}
	}
	l.next = slices.Clip(kept)
}

func contains(all, some []messageID) bool {
	return !slices.ContainsFunc(some, func(id messageID) bool { return !slices.Contains(all, id) })
}

// holds says whether a node can be come to without the end of its round.
func holds(reached []silent, id nodeID) bool {
	return slices.ContainsFunc(reached, func(s silent) bool { return s.node == id && !s.ended })
}

// reach is what a node can become silently after a successor's step.
func (m *model) reach(s *successor, before *localKey) []silent {
	key := localKey{node: s.node, most: before.most, heard: before.heard}
	if s.ended {
		i := m.nodes[s.node].index()
		for w := range key.heard {
			key.heard[w] &^= m.round[i][w]
		}
	}
	l := local{onlyBase: true}
	m.silently(&l, &key)
	return l.base
}
