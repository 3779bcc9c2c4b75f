// The search for everything that a node can become by silent steps, given what it may hear.
// The essay is at the head of closure.go.

package explore

import (
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// closureSearch goes from the closure of a node, by each message that it may hear, to further closures.
type closureSearch struct {
	model    *model
	key      *localKey
	local    *local // collects the steps that others notice; nil: they are not needed
	within   bool   // no further than the round of votes that is under way
	parts    []closurePart
	looked   int      // how many of the parts were looked at
	size     int      // of all parts together
	relevant relevant // what is known to do something to any of these nodes
	wrong    bool     // an invariant was broken, so it went no further
}

// closurePart is the closure of one of the nodes that the search has reached.
type closurePart struct {
	*closure
	from  silentNode
	first int // the place of its first node among all of them
}

// silently is everything that a node can become by silent steps, itself first. Some nodes may be in it more
// than once.
func (m *model) silently(key *localKey) (base []silentNode) {
	w := closureSearch{model: m, key: key}
	w.run()
	for _, d := range w.parts {
		for i, s := range d.nodes {
			if i == 0 {
				s = d.from
			} else {
				s.after, s.ended = s.after+int32(d.first), s.ended || d.from.ended
			}
			base = append(base, s)
		}
	}
	return base
}

func (w *closureSearch) run() {
	w.model.searchMarks.clear()
	w.from(w.key.node)
}

// from goes on from a node, unless an invariant was broken.
func (w *closureSearch) from(id nodeID) {
	w.become(silentNode{node: id})
	for ; w.looked < len(w.parts) && !w.wrong; w.looked++ {
		d := w.parts[w.looked]
		d.try(w.model, &w.key.heard)
		w.enter(&d, d.steps)
		heard := w.key.heard.and(&d.some)
		if w.local == nil { // steps that others notice are not needed
			heard = heard.and(&d.onlySilent)
		}
		for id := range heard.all {
			w.enter(&d, d.reactions[id])
		}
		w.relevant.heard.join(&d.some)
		w.relevant.terms |= d.terms
	}
}

// sources are the nodes whose closures were looked at.
func (w *closureSearch) sources() []nodeID {
	nodes := make([]nodeID, w.looked)
	for i := range nodes {
		nodes[i] = w.parts[i].from.node
	}
	return nodes
}

// enter sorts the steps of a closure: silent ones, those that only send something, and those that others
// notice.
func (w *closureSearch) enter(from *closurePart, does []closureStep) {
	for i := range does {
		d := &does[i]
		at, ended := from.first+d.after, from.from.ended || d.ended
		switch {
		case !d.defect.none():
			if w.local != nil && !w.wrong {
				w.local.wrong = &wrong{defect: d.defect, last: last{at, d.input}}
			}
			w.wrong = true
		case d.silent():
			w.become(silentNode{node: d.node, ended: ended, after: int32(at), input: d.input})
		case w.local == nil:
		case at == 0 && d.node == w.key.node && !d.saved && !d.ended:
			for _, id := range d.says {
				if !slices.Contains(w.local.says, id) {
					w.local.says = append(w.local.says, id)
				}
			}
		default:
			w.local.add(successor{d.node, d.says, ended, last{at, d.input}})
		}
	}
}

// become adds the closure of a node, unless that node was found before.
func (w *closureSearch) become(s silentNode) {
	if s.ended && w.within || w.model.searchMarks.has(s.node, s.ended) {
		return
	}
	d := closurePart{w.model.closureOf(s.node, w.key.most), s, w.size}
	w.parts, w.size = append(w.parts, d), w.size+len(d.nodes)
	added, inputs := d.mark(&w.model.searchMarks, s.ended)
	if l := w.local; l != nil {
		l.silent, l.others, l.lease = l.silent+added, l.others+inputs, max(l.lease, d.lease)
	}
}

// harmless says whether messages lead to no new node from the closures of these nodes, if most is the largest
// term of the others.
func (m *model) harmless(who *sourceNodes, most memberstate.Term, heard messageSet) bool {
	if who.by != 0 {
		heard = m.renameSaid(&heard, who.by)
	}
	for _, at := range who.nodes {
		d := m.closureOf(at, most)
		d.try(m, &heard)
		if some := heard.and(&d.some); some.words() > 0 {
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
