// The search for everything that a node can become by silent steps, given what it may receive.
// The essay is at the head of closure.go.

package explore

import (
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// closureSearch goes from the closure of a node, by each message that it may receive, to further closures.
type closureSearch struct {
	model     *model
	key       *expansionKey
	expansion *expansion // collects the steps that others notice; nil: they are not needed
	sameRound bool       // no further than the round of votes that is under way
	parts     []closurePart
	expanded  int      // how many of the parts were expanded
	size      int      // of all parts together
	relevant  relevant // what is known to do something to any of these nodes
	stopped   bool     // an invariant was broken, so it went no further
}

// closurePart is the closure of one of the nodes that the search has reached.
type closurePart struct {
	*closure
	from  silentNode
	first int // the place of its first node among all of them
}

// silentClosure is everything that a node can become by silent steps, itself first. Some nodes may be in it more
// than once.
func (m *model) silentClosure(key *expansionKey) (base []silentNode) {
	w := closureSearch{model: m, key: key}
	w.run()
	for _, d := range w.parts {
		for i, s := range d.nodes {
			if i == 0 {
				s = d.from
			} else {
				s.predecessor, s.ended = s.predecessor+int32(d.first), s.ended || d.from.ended
			}
			base = append(base, s)
		}
	}
	return base
}

func (w *closureSearch) run() {
	w.model.searchMarks.clear()
	w.searchFrom(w.key.node)
}

// searchFrom goes on from a node, unless an invariant was broken.
func (w *closureSearch) searchFrom(id nodeID) {
	w.add(silentNode{node: id})
	for ; w.expanded < len(w.parts) && !w.stopped; w.expanded++ {
		d := w.parts[w.expanded]
		d.findReactions(w.model, &w.key.mayReceive)
		w.classify(&d, d.steps)
		messages := w.key.mayReceive.and(&d.effective)
		if w.expansion == nil { // steps that others notice are not needed
			messages = messages.and(&d.partlySilent)
		}
		for id := range messages.all {
			w.classify(&d, d.reactions[id])
		}
		w.relevant.messages.join(&d.effective)
		w.relevant.terms |= d.terms
	}
}

// sources are the nodes whose closures were expanded.
func (w *closureSearch) sources() []nodeID {
	nodes := make([]nodeID, w.expanded)
	for i := range nodes {
		nodes[i] = w.parts[i].from.node
	}
	return nodes
}

// classify sorts the steps of a closure: silent ones, those that only send something, and those that others
// notice.
func (w *closureSearch) classify(from *closurePart, does []closureStep) {
	for i := range does {
		d := &does[i]
		at, ended := from.first+d.predecessor, from.from.ended || d.ended
		switch {
		case !d.defect.none():
			if w.expansion != nil && !w.stopped {
				w.expansion.violation = &violatingStep{defect: d.defect, lastStep: lastStep{at, d.input}}
			}
			w.stopped = true
		case d.silent():
			w.add(silentNode{node: d.node, ended: ended, predecessor: int32(at), input: d.input})
		case w.expansion == nil:
		case at == 0 && d.node == w.key.node && !d.saved && !d.ended:
			for _, id := range d.sent {
				if !slices.Contains(w.expansion.sent, id) {
					w.expansion.sent = append(w.expansion.sent, id)
				}
			}
		default:
			w.expansion.add(successor{d.node, d.sent, ended, lastStep{at, d.input}})
		}
	}
}

// add adds the closure of a node, unless that node was found before.
func (w *closureSearch) add(s silentNode) {
	if s.ended && w.sameRound || w.model.searchMarks.has(s.node, s.ended) {
		return
	}
	d := closurePart{w.model.closureOf(s.node, w.key.othersTerm), s, w.size}
	w.parts, w.size = append(w.parts, d), w.size+len(d.nodes)
	added, inputs := d.mark(&w.model.searchMarks, s.ended)
	if l := w.expansion; l != nil {
		l.silentNodes, l.otherInputs, l.lease = l.silentNodes+added, l.otherInputs+inputs, max(l.lease, d.lease)
	}
}

// noneHasEffect says whether messages lead to no new node from the closures of these nodes, if othersTerm is the
// largest term of the others.
func (m *model) noneHasEffect(sources *sourceNodes, othersTerm memberstate.Term, messages messageSet) bool {
	if sources.by != 0 {
		messages = m.renameMessages(&messages, sources.by)
	}
	for _, at := range sources.nodes {
		d := m.closureOf(at, othersTerm)
		d.findReactions(m, &messages)
		if some := messages.and(&d.effective); some.words() > 0 {
			return false
		}
	}
	return true
}

// marks is a set of nodes, with and without the end of a round, that can be emptied quickly.
type marks struct {
	in  [2][]uint32 // by node: in which set it was last
	now uint32
}

func (s *marks) clear() {
	if s.now++; s.now == 0 { // it has wrapped around, so old marks would look new
		clear(s.in[0])
		clear(s.in[1])
		s.now = 1
	}
}

func (s *marks) of(id nodeID, ended bool) *uint32 {
	in := &s.in[0]
	if ended {
		in = &s.in[1]
	}
	for len(*in) <= int(id) {
		*in = append(*in, 0)
	}
	return &(*in)[id]
}

func (s *marks) has(id nodeID, ended bool) bool { return *s.of(id, ended) == s.now }

// add says whether the node is new.
func (s *marks) add(id nodeID, ended bool) bool {
	at := s.of(id, ended)
	isNew := *at != s.now
	*at = s.now
	return isNew
}
