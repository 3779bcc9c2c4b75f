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
	hears [][]deed // by message
	terms uint8    // that some of this needs
	lease bool     // it can come to hold one

	// Messages of which it is known whether they do something to any of these, and whether
	// nobody need notice that.
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

// drift is that of a node, which is worked out once.
func (m *model) drift(id nodeID, most memberstate.Term) *drift {
	for len(m.drifts) <= int(id) {
		m.drifts = append(m.drifts, [mostTerms + 1]*drift{})
	}
	if m.drifts[id][most] == nil {
		d := &drift{most: most}
		d.become(m, silent{node: id})
		m.drifts[id][most] = d
	}
	return m.drifts[id][most]
}

// become takes all silent steps from the first one on.
func (d *drift) become(m *model, first silent) {
	marks := &m.drifting
	marks.clear()
	marks.add(first.node, false)
	d.base = append(d.base, first)
	add := func(s silent) {
		if marks.add(s.node, s.ended) {
			d.base = append(d.base, s)
		}
	}
	for i := 0; i < len(d.base); i++ {
		b := &d.base[i]
		always := m.anytime(b.node)
		d.terms |= always.terms
		d.lease = d.lease || m.nodes[b.node].holdsLease()
		b.inputs = always.inputs[d.most]
		ended := b.ended
		for _, e := range always.events {
			switch {
			case e.term > d.most: // so are the rest
			case e.node != 0:
				add(silent{node: e.node, ended: ended || e.ended, after: int32(i), input: e.input})
			default:
				for _, t := range m.results[e.result] {
					if t.ended = t.ended || ended; t.silent() {
						add(silent{node: t.node, ended: t.ended, after: int32(i), input: e.input})
					} else {
						d.does = enlist(d.does, deed{t, last{i, e.input}})
					}
				}
			}
		}
	}
	d.base = slices.Clip(d.base)
}

// enlist adds a deed, unless nothing comes of it that does not come of another one.
func enlist(all []deed, d deed) []deed {
	if d.beyond || slices.ContainsFunc(all, func(other deed) bool { return other.is(d.taken) }) {
		return all
	}
	return append(all, d)
}

// hear finds out what messages do to any of these, as far as that is not known.
func (d *drift) hear(m *model, heard *said) {
	rest := heard.without(&d.none)
	rest = rest.without(&d.some)
	for id := range rest.all {
		for len(d.hears) <= int(id) {
			d.hears = append(d.hears, nil)
		}
		if d.hears[id] = d.heard(m, id); d.hears[id] == nil {
			d.none.add(id)
			continue
		}
		d.some.add(id)
		if slices.ContainsFunc(d.hears[id], func(d deed) bool { return d.silent() || !d.defect.none() }) {
			d.quiet.add(id)
		}
	}
}

// heard is what a message does to any of these. What one of them silently becomes is left out
// if another one becomes that, too, or can after the same message.
func (d *drift) heard(m *model, id messageID) (does []deed) {
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
				does = enlist(does, deed{t, last{i, in}})
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
