// Saturation: a step that only says something is taken at once.
//
// The intuition: a leader may send its first heartbeat now, or after n1 has voted, or never. In a network that
// keeps every message and delivers it at any time, or never, the state in which it has been sent can do
// all that the other states can, because nobody has to hear it. So the explorer sends it at once and
// does not look at the states in which it has not been sent.
//
// The cases:
//
//   - The step leaves its node as it was, saves nothing and ends no round: what it says is added to
//     what was said, and there is no transition.
//   - The step makes a waiting candidate ask for pre-votes or, without a save, for votes. That changes
//     the node. It is taken at once, too, if the candidate's alarm silently leads back to where it
//     was: then nothing is lost (eager candidacy).
//   - That somebody has won a term is said, too, but a state that lacks it may be wrong for that very
//     reason: a member that follows a leader who never led. A step that wins a term changes its node,
//     so it is never taken here.
//
// The fix that looks right and is wrong is to take every step at once that says something, also
// one after a silent step. By the silent step the node gives up what it could do instead.
//
// docs/verification.md says what it buys.

package explore

import "slices"

// saturate takes all steps that only say something. did, if not nil, is told of them.
func (x *worker) saturate(s *state, did func(i int, in inputID)) {
	for grown := true; grown; {
		grown = false
		for i := range x.options.Members {
			key := &x.now
			x.keyOf(s, i, key)
			l := x.local(i, key)
			for _, id := range l.says {
				if !x.model.say(s, id) {
					continue
				}
				if grown = true; did != nil {
					did(i, x.model.saying(key, id))
				}
			}
			if l.eagerCandidacy == 0 {
				continue
			}
			s.nodes[i], grown = l.eagerCandidacy, true
			for _, id := range l.eagerSays {
				x.model.say(s, id)
			}
			if did != nil {
				did(i, x.model.own[x.model.nodes[l.eagerCandidacy].index()][0])
			}
		}
	}
}

// findEagerCandidacy finds what the node becomes at once: a candidate that waits asks for votes, or for
// pre-votes, if that needs no save, and the end of its patience leads back to where it is now.
func (m *model) findEagerCandidacy(l *local, id nodeID) {
	ring := m.own[m.nodes[id].index()][0]
	for _, t := range m.take(id, ring) {
		asks := m.nodes[t.node].open() && t.defect.none() && !t.beyond && !t.saved && !t.ended && len(t.says) > 0 && t.node != id
		if asks && slices.ContainsFunc(m.take(t.node, ring), func(b stepResult) bool {
			return b.node == id && b.defect.none() && !b.beyond && !b.saved && len(b.says) == 0
		}) {
			l.eagerCandidacy, l.eagerSays = t.node, t.says
			return
		}
	}
}
