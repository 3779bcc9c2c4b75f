// Subsumption: what a node can do is left out if it can be had from something else that it can do.
//
// The intuition: a candidate may grant a vote before it counts a refusal, or after it. Both steps say the same
// to others. The node that has not counted the refusal can still count it silently, so all that follows the
// second can follow the first, and the second is left out.
//
// The cases:
//
//   - The step leads to a node of the closure in which the step began, and what it says is said
//     at once anyway (saturation.go). Then it leads nowhere new.
//   - Two steps say the same, and the node after one can silently become the node after the other.
//     The second is left out. If each can become the other, the first of them is kept.
//   - A step ends the round of votes that is under way, so what belongs to that round is not heard any more.
//     Whether one node can become another is asked without it, and steps that end a round are
//     compared only with each other.
//
// The fix that looks right and is wrong is to compare what the nodes can become before the steps. The step may
// have taken from the node what it needed, as the end of a round does.

package explore

import "slices"

// dropSubsumed takes out the successors that are subsumed.
func (w *closureSearch) dropSubsumed() {
	l, m := w.local, w.model
	l.next = slices.DeleteFunc(l.next, func(s successor) bool {
		return !s.ended && contains(l.says, s.says) && m.searchMarks.has(s.node, false)
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
		kept, rest = append(kept, w.unsubsumed(alike)...), others
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

// unsubsumed are those of successors that look alike of which none can silently become another
// one. Once through them leaves none that one before it can become; once more, from the last
// one on, none that one after it can.
func (w *closureSearch) unsubsumed(alike []successor) []successor {
	for range 2 {
		if len(alike) > 1 {
			alike = w.unreachable(alike)
			slices.Reverse(alike)
		}
	}
	return alike
}

// unreachable are those of successors that look alike that none before them can silently become.
// What is known by now to matter to that is noted. What turns out to later could have one more
// of them left out; that one more is looked at does no harm.
func (w *closureSearch) unreachable(alike []successor) []successor {
	m := w.model
	key := localKey{most: w.key.most, heard: w.key.heard}
	if alike[0].ended {
		key.heard = key.heard.without(&m.roundMessages[m.nodes[w.key.node].index()])
	}
	after := closureSearch{model: m, key: &key, within: true}
	m.searchMarks.clear()
	kept := alike[:0]
	for _, s := range alike {
		if after.wrong || !m.searchMarks.has(s.node, false) {
			kept = append(kept, s)
			after.from(s.node)
		}
	}
	w.relevant.join(&after.relevant)
	return kept
}
