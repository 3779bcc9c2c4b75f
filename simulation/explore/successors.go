// The successors of a node: the steps that others can notice, given what it may receive.

package explore

import (
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// expansionKey is a node with the messages that it may receive, and the largest term of the others, which bounds the
// stale messages.
type expansionKey struct {
	node       nodeID
	othersTerm memberstate.Term
	mayReceive messageSet
}

// expansion is what a node can do.
type expansion struct {
	successors []successor
	sent       []messageID // sent by steps that change nothing, so at once
	// eagerCandidacy is the node that it becomes at once, sending eagerSent, because it can silently
	// come back; 0: none.
	eagerCandidacy nodeID
	eagerSent      []messageID
	violation      *violatingStep
	lease          int // ticks of the longest lease that it can have after silent steps
	seats          int // the renaming to the members for which it was worked out

	silentNodes, otherInputs uint32 // how many nodes it can become silently, and how many inputs besides messages these have
}

// machineSteps is the number of machines' steps that it stands for, given these messages.
func (l *expansion) machineSteps(received *messageSet) uint64 {
	return uint64(l.silentNodes)*uint64(received.len()) + uint64(l.otherInputs)
}

// successor is one thing that a node can do: any silent steps, and one that others notice.
type successor struct {
	node  nodeID
	sent  []messageID
	ended bool // the round of votes that was under way is over
	lastStep
}

// lastStep is a step after silent ones, for the members for which it was worked out.
type lastStep struct {
	predecessor int // the place of the last silent one
	input       inputID
}

// violatingStep is a step that breaks an invariant.
type violatingStep struct {
	defect defect
	lastStep
	seats int // as in its expansion
}

// nothing is no input.
const nothing inputID = 0

// expansion returns what a node can do.
func (m *model) expansion(key *expansionKey) *expansion {
	if l := m.registry.expansions.find(m, key); l != nil {
		return l
	}
	if like, by := m.canonicalKey(key); by != 0 {
		return m.registry.expansions.putRenamed(m, key, &like, by, m.renameExpansion(m.expansion(&like), by))
	}
	w := m.computeExpansion(key)
	return m.registry.expansions.put(w, w.expansion)
}

func (m *model) computeExpansion(key *expansionKey) *closureSearch {
	l := &expansion{successors: m.buffer[:0]}
	w := &closureSearch{model: m, key: key, expansion: l}
	w.run()
	m.buffer = l.successors
	if !m.bounds.NoCrash && m.bounds.Leases {
		w.crash()
	}
	m.findEagerCandidacy(l, key.node)
	w.dropSubsumed()
	return w
}

// renameExpansion is what a node can do if another node of its orbit can do this.
func (m *model) renameExpansion(like *expansion, by int) *expansion {
	l, back := *like, m.inverse[by]
	l.seats = m.compose(like.seats, by)
	l.successors = slices.Clone(like.successors)
	for i := range l.successors {
		s := &l.successors[i]
		s.node, s.sent = m.renameNode(s.node, back), m.renameSent(s.sent, back)
	}
	l.sent, l.eagerSent = m.renameSent(like.sent, back), m.renameSent(like.eagerSent, back)
	if l.eagerCandidacy != 0 {
		l.eagerCandidacy = m.renameNode(l.eagerCandidacy, back)
	}
	if l.violation != nil {
		l.violation = &violatingStep{l.violation.defect, l.violation.lastStep, m.compose(l.violation.seats, by)}
	}
	return &l
}

// crash makes the node crash. Where time passes that is no silent step: a restarted process waits until its
// forgotten promises have run out.
func (w *closureSearch) crash() {
	t := &w.model.resultsOf(w.key.node, w.model.crashInput)[0]
	switch {
	case t.outOfBounds:
	case t.defect.none():
		w.expansion.add(successor{node: t.node, ended: t.ended, lastStep: lastStep{input: w.model.crashInput}})
	case w.expansion.violation == nil:
		w.expansion.violation = &violatingStep{defect: t.defect, lastStep: lastStep{input: w.model.crashInput}}
	}
}

func (l *expansion) add(s successor) {
	if !slices.ContainsFunc(l.successors, func(k successor) bool { return k.node == s.node && k.ended == s.ended && slices.Equal(k.sent, s.sent) }) {
		l.successors = append(l.successors, s)
	}
}
