// Subsumption: a successor of a node is left out if it can be reached from another successor.
//
// The intuition: a candidate may grant a vote before it counts a refusal, or after it. Both steps send the same
// message. The node that has not counted the refusal can still count it silently, so everything that follows the
// second step can follow the first, and the second is left out.
//
// The cases:
//
//   - The step leads to a node of the closure in which the step began, and what it sends is sent at once
//     anyway (saturation.go). Then it leads nowhere new.
//   - Two steps send the same, and the node after one can silently become the node after the other.
//     The second is left out. If each can become the other, the first of them is kept.
//   - A step ends the round of votes that is under way, so messages of that round are not heard any more.
//     Whether one node can become another is therefore asked without them, and steps that end a round are
//     compared only with each other.
//
// The shortcut that looks right and is wrong is to compare what the nodes can become before the steps. The step may
// have taken from the node what it needed, as the end of a round does.

package explore

import "slices"

// dropSubsumed removes the successors that are subsumed.
func (w *closureSearch) dropSubsumed() {
	l, m := w.expansion, w.model
	l.successors = slices.DeleteFunc(l.successors, func(s successor) bool {
		return !s.ended && contains(l.sent, s.sent) && m.searchMarks.has(s.node, false)
	})
	var kept, alike []successor
	for rest := l.successors; len(rest) > 0; {
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
	l.successors = slices.Clip(kept)
}

func contains(all, some []messageID) bool {
	return !slices.ContainsFunc(some, func(id messageID) bool { return !slices.Contains(all, id) })
}

// looksLike says whether others notice the same of two successors.
func (s *successor) looksLike(other *successor) bool {
	return s.ended == other.ended && slices.Equal(s.sent, other.sent)
}

// unsubsumed removes, from successors that look alike, those that another one can silently become. One pass
// removes those that an earlier one can become; a second pass, from the last one on, those that a later one
// can.
func (w *closureSearch) unsubsumed(alike []successor) []successor {
	for range 2 {
		if len(alike) > 1 {
			alike = w.unreachable(alike)
			slices.Reverse(alike)
		}
	}
	return alike
}

// unreachable keeps those of successors that look alike which none before them can silently become. What is
// known to matter to that so far is noted. If more turns out to matter later, one successor more could have been
// left out, and looking at it does no harm.
func (w *closureSearch) unreachable(alike []successor) []successor {
	m := w.model
	key := expansionKey{othersTerm: w.key.othersTerm, mayReceive: w.key.mayReceive}
	if alike[0].ended {
		key.mayReceive = key.mayReceive.without(&m.roundMessages[m.nodes[w.key.node].index()])
	}
	after := closureSearch{model: m, key: &key, sameRound: true}
	m.searchMarks.clear()
	kept := alike[:0]
	for _, s := range alike {
		if after.stopped || !m.searchMarks.has(s.node, false) {
			kept = append(kept, s)
			after.searchFrom(s.node)
		}
	}
	w.relevant.join(&after.relevant)
	return kept
}
