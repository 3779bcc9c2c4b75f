// What a node can silently become, given what it may hear.

package explore

import "slices"

// silent is a node after silent steps.
type silent struct {
	node  nodeID
	ended bool
	after int // place of the one before
	input inputID
}

// wandering takes all silent steps of a node.
type wandering struct {
	model   *model
	key     *localKey
	local   *local   // enters what can be noticed on the way; nil: nothing does
	within  bool     // no further than the round of votes that is under way
	base    []silent // what it can become, itself first
	looked  int      // at so many of these
	matters relevant // what is known to do something to any of them
	wrong   bool     // something is, so it went no further
	on      []asked  // all these, by the names that they have here, and others that were asked
}

// silently is all that a node can become by silent steps, itself first.
func (m *model) silently(key *localKey) []silent {
	w := wandering{model: m, key: key}
	w.wander()
	return w.base
}

func (w *wandering) wander() {
	w.model.marks.clear()
	w.from(w.key.node)
	w.on = []asked{{nodes: w.asked()}}
}

// from goes on from a node.
func (w *wandering) from(id nodeID) {
	w.become(silent{node: id})
	for ; w.looked < len(w.base) && !w.wrong; w.looked++ {
		always := w.model.anytime(w.base[w.looked].node)
		w.hear(w.looked)
		w.undergo(w.looked, always)
		w.matters.terms |= always.terms
		if w.local != nil {
			w.local.silent, w.local.others = uint32(w.looked+1), w.local.others+always.inputs[w.key.most]
		}
	}
}

// asked are the nodes that were looked at.
func (w *wandering) asked() []nodeID {
	nodes := make([]nodeID, w.looked)
	for i := range nodes {
		nodes[i] = w.base[i].node
	}
	return nodes
}

// undergo has happen to one of these what can at any time.
func (w *wandering) undergo(i int, always *anytime) {
	for k := range always.events {
		switch e := &always.events[k]; {
		case e.term > w.key.most:
			return
		case e.node != 0:
			w.become(silent{e.node, w.base[i].ended || e.ended, i, e.input})
		default:
			w.enter(i, e.input, w.model.results[e.result])
		}
	}
}

// hear has one of these hear all that it may.
func (w *wandering) hear(i int) {
	m, at := w.model, w.base[i].node
	r := m.reactionsOf(at, &w.key.heard)
	heard := w.key.heard.and(&r.some)
	if w.local == nil { // of what is noticed nothing is entered
		heard = heard.and(&r.silent)
	}
	for id := range heard.all {
		in := m.delivery(id)
		w.enter(i, in, m.take(at, in))
	}
	w.matters.heard.join(&r.some)
}

// reactions are messages of which it is known whether they do something to a node, and
// whether that is something that nobody need notice.
type reactions struct{ none, some, silent said }

// reactionsOf is what is known of a node, by then of all these messages.
func (m *model) reactionsOf(id nodeID, heard *said) *reactions {
	for int(id) >= len(m.reactions) {
		m.reactions = append(m.reactions, reactions{})
	}
	rest := heard.without(&m.reactions[id].none)
	rest = rest.without(&m.reactions[id].some)
	for msg := range rest.all {
		m.react(id, msg)
	}
	return &m.reactions[id]
}

// react finds out what a message does to a node.
func (m *model) react(at nodeID, id messageID) {
	all := m.take(at, m.delivery(id))
	r := &m.reactions[at]
	if len(all) == 1 && !all[0].noticed(at) {
		r.none.add(id)
		return
	}
	r.some.add(id)
	if slices.ContainsFunc(all, func(t taken) bool { return t.silent() || !t.defect.none() }) {
		r.silent.add(id)
	}
}

// harmless says whether none of some messages does anything to nodes that were asked.
func (m *model) harmless(who *asked, heard said) bool {
	if who.by != 0 {
		heard = m.renameSaid(&heard, who.by)
	}
	if who.ended {
		heard = heard.without(&m.round[m.nodes[who.nodes[0]].index()])
	}
	for _, at := range who.nodes {
		if some := heard.and(&m.reactionsOf(at, &heard).some); some.words() > 0 {
			return false
		}
	}
	return true
}

// enter sorts what an input does: as silent, as what only says something, or as what is
// noticed.
func (w *wandering) enter(at int, in inputID, all []taken) {
	before := w.base[at]
	for i := range all {
		t := &all[i]
		ended := before.ended || t.ended
		switch {
		case !t.defect.none():
			if w.local != nil && !w.wrong {
				w.local.wrong = &wrong{defect: t.defect, last: last{at, in}}
			}
			w.wrong = true
		case t.beyond:
		case t.silent():
			w.become(silent{t.node, ended, at, in})
		case w.local == nil:
		case at == 0 && t.node == before.node && !t.saved && !t.ended:
			for _, id := range t.says {
				if !slices.Contains(w.local.says, id) {
					w.local.says = append(w.local.says, id)
				}
			}
		default:
			w.local.add(successor{t.node, t.says, ended, last{at, in}})
		}
	}
}

// become adds what the node can become, if it is new.
func (w *wandering) become(s silent) {
	if s.ended && w.within {
		return
	}
	if w.model.marks.add(s.node, s.ended) {
		w.base = append(w.base, s)
	}
}

// marks are a set of nodes, with and without the end of a round, that is quickly emptied.
type marks struct {
	in  [2][]uint32 // by node: in which set it was last
	now uint32
}

func (s *marks) clear() { s.now++ }

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
