// What a node can do that is covered by something else that it can do.

package explore

import "slices"

// thin takes out what others cover: where a node gets to by a step that it could have
// taken before the silent ones, it is still to come to those.
func (w *wandering) thin() {
	l, m := w.local, w.model
	l.next = slices.DeleteFunc(l.next, func(s successor) bool {
		return !s.ended && contains(l.says, s.says) && m.marks.has(s.node, false)
	})
	var kept, alike []successor
	for rest := l.next; len(rest) > 0; {
		alike = append(alike[:0], rest[0])
		others := rest[:0]
		for _, s := range rest[1:] {
			if s.looksLike(&alike[0]) {
				alike = append(alike, s)
			} else {
				others = append(others, s)
			}
		}
		kept, rest = append(kept, w.uncovered(alike)...), others
	}
	l.next = slices.Clip(kept)
}

func contains(all, some []messageID) bool {
	return !slices.ContainsFunc(some, func(id messageID) bool { return !slices.Contains(all, id) })
}

// looksLike says whether others notice the same of two successors.
func (s *successor) looksLike(other *successor) bool {
	return s.ended == other.ended && slices.Equal(s.says, other.says)
}

// uncovered are those of successors that look alike of which none can silently become another
// one. Once through them leaves none that one before it can become; once more, from the last
// one on, none that one after it can.
func (w *wandering) uncovered(alike []successor) []successor {
	for range 2 {
		if len(alike) > 1 {
			alike = w.unreached(alike)
			slices.Reverse(alike)
		}
	}
	return alike
}

// unreached are those of successors that look alike that none before them can silently become.
// What is known by now to matter to that is noted. What turns out to later could have one more
// of them left out; that one more is looked at does no harm.
func (w *wandering) unreached(alike []successor) []successor {
	m := w.model
	key := localKey{most: w.key.most, heard: w.key.heard}
	if alike[0].ended {
		key.heard = key.heard.without(&m.round[m.nodes[w.key.node].index()])
	}
	after := wandering{model: m, key: &key, within: true}
	m.marks.clear()
	kept := alike[:0]
	for _, s := range alike {
		if after.wrong || !m.marks.has(s.node, false) {
			kept = append(kept, s)
			after.from(s.node)
		}
	}
	w.matters.join(&after.matters)
	return kept
}
