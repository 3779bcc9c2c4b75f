// What a node can become if it hears nothing of what was said: by what can happen to it at any
// time. A candidate drifts through thousands of states, by refusals that may arrive or not.
// So that is worked out once, whatever it may hear besides, and so is what becomes of all of
// these by a message.

package explore

import (
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// drift is what a node can silently become without hearing anything, and what can be noticed
// on the way, now and after a message.
type drift struct {
	most  memberstate.Term // that the others have come to
	base  []silent         // itself first
	does  []deed
	terms uint8 // that some of this needs
	lease int   // the ticks of the longest that it can come to hold

	// What messages do to any of these, as far as that is known: nothing, or something, and
	// whether that is something that nobody need notice.
	reactions         [][]deed // by message
	none, some, quiet said
}

// silent is a node after silent steps.
type silent struct {
	node   nodeID
	after  int32 // place of the one before
	input  inputID
	inputs uint32 // that can happen to it at any time
	ended  bool   // the round of votes that was under way is over
}

// deed is a step after silent ones. Of those that come to the same there is one.
type deed struct {
	taken
	last
}

// drift is that of a node, which each model works out once.
func (m *model) drift(id nodeID, most memberstate.Term) *drift {
	for len(m.drifts) <= int(id) {
		m.drifts = append(m.drifts, [mostTerms + 1]*drift{})
	}
	if m.drifts[id][most] == nil {
		m.drifts[id][most] = m.workDrift(id, most)
	}
	return m.drifts[id][most]
}

func (m *model) workDrift(id nodeID, most memberstate.Term) *drift {
	d := &drift{most: most}
	m.drifting.clear()
	d.become(m, silent{node: id})
	for looked := 0; looked < len(d.base); looked++ { //nolint:intrange // there get to be more
		d.undergo(m, looked)
	}
	d.base = slices.Clip(d.base)
	return d
}

// become adds what it can become, if it is new.
func (d *drift) become(m *model, s silent) {
	if m.drifting.add(s.node, s.ended) {
		s.inputs = m.anytime(s.node).inputs[d.most]
		d.base = append(d.base, s)
		d.lease = max(d.lease, m.nodes[s.node].leaseLeft())
	}
}

// undergo has happen to one of these what can at any time.
func (d *drift) undergo(m *model, i int) {
	before := d.base[i]
	always := m.anytime(before.node)
	d.terms |= always.terms
	for _, e := range always.events {
		switch {
		case e.term > d.most: // so are the rest
			return
		case e.node != 0:
			d.become(m, silent{node: e.node, ended: before.ended || e.ended, after: int32(i), input: e.input})
			continue
		}
		for _, t := range m.results[e.result] {
			if t.ended = t.ended || before.ended; t.silent() {
				d.become(m, silent{node: t.node, ended: t.ended, after: int32(i), input: e.input})
			} else {
				d.does = addDeed(d.does, deed{t, last{i, e.input}})
			}
		}
	}
}

// addDeed adds one, unless nothing comes of it that does not come of another one.
func addDeed(all []deed, d deed) []deed {
	if d.beyond || slices.ContainsFunc(all, func(other deed) bool { return other.is(d.taken) }) {
		return all
	}
	return append(all, d)
}

// try finds out what messages do to any of these, as far as that is not known.
func (d *drift) try(m *model, heard *said) {
	rest := heard.without(&d.none)
	rest = rest.without(&d.some)
	for id := range rest.all {
		for len(d.reactions) <= int(id) {
			d.reactions = append(d.reactions, nil)
		}
		if d.reactions[id] = d.reaction(m, id); d.reactions[id] == nil {
			d.none.add(id)
			continue
		}
		d.some.add(id)
		if slices.ContainsFunc(d.reactions[id], func(d deed) bool { return d.silent() || !d.defect.none() }) {
			d.quiet.add(id)
		}
	}
}

// reaction is what a message does to any of these. What one of them silently becomes is left out
// if another one becomes that, too, or can after the same message.
func (d *drift) reaction(m *model, id messageID) (does []deed) {
	in := m.delivery(id)
	marks := &m.drifted
	marks.clear()
	d.mark(marks, false)
	for i := range d.base {
		b := &d.base[i]
		for _, t := range m.take(b.node, in) {
			if !t.noticed(b.node) {
				continue
			}
			t.ended = t.ended || b.ended
			switch {
			case !t.silent():
				does = addDeed(does, deed{t, last{i, in}})
			case !marks.has(t.node, t.ended):
				m.drift(t.node, d.most).mark(marks, t.ended)
				does = append(does, deed{t, last{i, in}})
			}
		}
	}
	return does
}

// mark marks all of these, and returns how many are new, and how many inputs can happen to
// those at any time.
func (d *drift) mark(marks *marks, ended bool) (added, inputs uint32) {
	for i := range d.base {
		if b := &d.base[i]; marks.add(b.node, ended || b.ended) {
			added, inputs = added+1, inputs+b.inputs
		}
	}
	return added, inputs
}
