// What a node can become by silent steps, given what it may hear: a search from closure to closure.
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
	local    *local // enters what can be noticed on the way; nil: nothing does
	within   bool   // no further than the round of votes that is under way
	parts    []closurePart
	looked   int      // how many of the parts were looked at
	size     int      // of all of these
	relevant relevant // what is known to do something to any of them
	wrong    bool     // something is, so it went no further
}

// closurePart is the closure of one of the nodes that the search has come to.
type closurePart struct {
	*closure
	from  silentNode
	first int // place among all that it can become
}

// silently is all that a node can become by silent steps, itself first. It may have some of
// these more than once.
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

// from goes on from a node, unless something was wrong.
func (w *closureSearch) from(id nodeID) {
	w.become(silentNode{node: id})
	for ; w.looked < len(w.parts) && !w.wrong; w.looked++ {
		d := w.parts[w.looked]
		d.try(w.model, &w.key.heard)
		w.enter(&d, d.steps)
		heard := w.key.heard.and(&d.some)
		if w.local == nil { // of what is noticed nothing is entered
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

// enter sorts what is done on the way: as silent, as what only says something, or as what is
// noticed.
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

// harmless says whether messages lead nowhere new from the closures of some nodes, if the largest term of
// the others is most.
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

// marks are a set of nodes, with and without the end of a round, that is quickly emptied.
type marks struct {
	in  [2][]uint32 // by node: in which set it was last
	now uint32
}

func (s *marks) clear() {
	if s.now++; s.now == 0 { // it has begun again, and what is in there is as old as can be
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
