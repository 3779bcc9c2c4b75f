// Saturation: a step that only sends something is taken at once.
//
// The intuition: a leader may send its first heartbeat now, or after n1 has voted, or never. In a network that
// keeps every message and delivers it at any time, or never, the state in which it has been sent can do
// everything that the other states can, because no node has to receive it. So the explorer sends it at once and
// does not look at the states in which it has not been sent.
//
// The cases:
//
//   - The step leaves its node as it was, saves nothing and ends no round: its messages are added to
//     those that were sent, and there is no transition.
//   - The step makes a waiting candidate ask for pre-votes or, without a save, for votes. That changes
//     the node. It is taken at once, too, if the candidate's alarm silently leads back to where it
//     was, because then nothing is lost (eager candidacy).
//   - That a member has won a term is noted as a message, too. A state that lacks this note may be wrong for
//     that very reason: a member follows a leader that never led. But a step that wins a term changes its
//     node, so it is never taken here.
//
// The shortcut that looks right and is wrong is to take every step at once that sends something, even after a silent
// step. By the silent step the node gives up what it could do instead.
//
// docs/verification.md says what it saves.

package explore

import "slices"

// saturate takes all steps that only send something. did, if not nil, is called for each.
func (x *worker) saturate(s *state, did func(i int, in inputID)) {
	for grown := true; grown; {
		grown = false
		for i := range x.options.Members {
			key := &x.now
			x.keyOf(s, i, key)
			l := x.cachedExpansion(i, key)
			for _, id := range l.sent {
				if !x.model.send(s, id) {
					continue
				}
				if grown = true; did != nil {
					did(i, x.model.inputSending(key, id))
				}
			}
			if l.eagerCandidacy == 0 {
				continue
			}
			s.nodes[i], grown = l.eagerCandidacy, true
			for _, id := range l.eagerSent {
				x.model.send(s, id)
			}
			if did != nil {
				did(i, x.model.own[x.model.nodes[l.eagerCandidacy].index()][0])
			}
		}
	}
}

// findEagerCandidacy finds the node's eager candidacy: it waits as a candidate and asks for votes, or for
// pre-votes, without a save, and its next alarm leads back to where it is now.
func (m *model) findEagerCandidacy(l *expansion, id nodeID) {
	ring := m.own[m.nodes[id].index()][0]
	for _, t := range m.resultsOf(id, ring) {
		asks := m.nodes[t.node].inRound() && t.defect.none() && !t.outOfBounds && !t.saved && !t.ended && len(t.sent) > 0 && t.node != id
		if asks && slices.ContainsFunc(m.resultsOf(t.node, ring), func(b stepResult) bool {
			return b.node == id && b.defect.none() && !b.outOfBounds && !b.saved && len(b.sent) == 0
		}) {
			l.eagerCandidacy, l.eagerSent = t.node, t.sent
			return
		}
	}
}
