// Retry variants: two bits of a machine, which only decide how soon it asks for votes again and in
// which of two terms, are not remembered.
//
// The intuition: a candidate that has lost a round asks again, at once or after a wait. Its alarm may
// ring at any time here, so to all other nodes "at once" and "after a wait" are the same. A node that
// remembered which it is would only be two nodes instead of one.
//
// The cases:
//
//   - A round is under way. The machine may ask again without a wait, or has done so as often as it
//     may. Every input is given to both.
//   - No round is under way. The machine may stand in its term once more, or goes on to a larger one.
//     Every input is given to both.
//
// A third thing is not remembered: how often a leader has told the target of a handover again, which is behind, to stand. A copy
// of what it has said before can arrive at any time here anyway, so only a member that may always repeat it is searched.
//
// So the explorer allows more than can happen: a member may first act as the one and then as the other. A
// violation that needs this has no script.
//
// The shortcut that looks right and is wrong is to set the bits to one fixed value. A member that always
// asks again in its term never gets to a larger one by itself, and half of what can happen is missed.

package explore

import (
	"github.com/hustings/hustings/elector/protocol"
)

// canonize removes what does not affect a node's behaviour, the two bits, and ability.
func (m *model) canonize(n *node) {
	n.canonize(&m.rules[n.index()])
	if m.forgetsLate() {
		n.session.Machine = n.session.WithoutRetries() // every input is given to both variants
	}
	if m.forgetsAbility() {
		n.session.Machine = n.session.WithoutAbility() // and in every state of ability
	}
}

// retryVariants are the machines that a node may have.
func (m *model) retryVariants(n *node) []protocol.Machine {
	if !m.forgetsLate() {
		return []protocol.Machine{n.session.Machine}
	}
	variants := n.session.RetryVariants()
	return variants[:]
}
