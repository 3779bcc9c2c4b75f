// The successors of a node: the steps that others can notice, given what it may hear.

package explore

import (
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// localKey is a node with the messages that it may hear, and the largest term of the others, which bounds the
// stale messages.
type localKey struct {
	node  nodeID
	most  memberstate.Term
	heard messageSet
}

// local is what a node can do.
type local struct {
	next []successor
	says []messageID // sent by steps that change nothing, so at once
	// eagerCandidacy is the node that it becomes at once, sending eagerSays, because it can silently
	// come back; 0: none.
	eagerCandidacy nodeID
	eagerSays      []messageID
	wrong          *wrong
	lease          int // ticks of the longest lease that it can have after silent steps
	by             int // the renaming to the members for which it was worked out

	silent, others uint32 // how many nodes it can become silently, and how many inputs besides messages these have
}

// steps is the number of machines' steps that it stands for, given these messages.
func (l *local) steps(heard *messageSet) uint64 {
	return uint64(l.silent)*uint64(heard.len()) + uint64(l.others)
}

// successor is one thing that a node can do: any silent steps, and one that others notice.
type successor struct {
	node  nodeID
	says  []messageID
	ended bool // the round of votes that was under way is over
	last
}

// last is a step after silent ones, for the members for which it was worked out.
type last struct {
	after int // the place of the last silent one
	input inputID
}

// wrong is a step that breaks an invariant.
type wrong struct {
	defect defect
	last
	by int // as in its local
}

// nothing is no input.
const nothing inputID = 0

// local returns what a node can do.
func (m *model) local(key *localKey) *local {
	if l := m.registry.locals.find(m, key); l != nil {
		return l
	}
	if like, by := m.canonicalKey(key); by != 0 {
		return m.registry.locals.share(m, key, &like, by, m.renameLocal(m.local(&like), by))
	}
	w := m.workLocal(key)
	return m.registry.locals.keep(w, w.local)
}

func (m *model) workLocal(key *localKey) *closureSearch {
	l := &local{next: m.room[:0]}
	w := &closureSearch{model: m, key: key, local: l}
	w.run()
	m.room = l.next
	if !m.bounds.NoCrash && m.bounds.Leases {
		w.crash()
	}
	m.findEagerCandidacy(l, key.node)
	w.dropSubsumed()
	return w
}

// renameLocal is what a node can do if another node of its orbit can do this.
func (m *model) renameLocal(like *local, by int) *local {
	l, back := *like, m.inverse[by]
	l.by = m.both(like.by, by)
	l.next = slices.Clone(like.next)
	for i := range l.next {
		s := &l.next[i]
		s.node, s.says = m.renameNode(s.node, back), m.renameAll(s.says, back)
	}
	l.says, l.eagerSays = m.renameAll(like.says, back), m.renameAll(like.eagerSays, back)
	if l.eagerCandidacy != 0 {
		l.eagerCandidacy = m.renameNode(l.eagerCandidacy, back)
	}
	if l.wrong != nil {
		l.wrong = &wrong{l.wrong.defect, l.wrong.last, m.both(l.wrong.by, by)}
	}
	return &l
}

// crash makes the node crash. Where time passes that is no silent step: a restarted process waits until its
// forgotten promises have run out.
func (w *closureSearch) crash() {
	t := &w.model.take(w.key.node, w.model.crashing)[0]
	switch {
	case t.beyond:
	case t.defect.none():
		w.local.add(successor{node: t.node, ended: t.ended, last: last{input: w.model.crashing}})
	case w.local.wrong == nil:
		w.local.wrong = &wrong{defect: t.defect, last: last{input: w.model.crashing}}
	}
}

func (l *local) add(s successor) {
	if !slices.ContainsFunc(l.next, func(k successor) bool { return k.node == s.node && k.ended == s.ended && slices.Equal(k.says, s.says) }) {
		l.next = append(l.next, s)
	}
}
