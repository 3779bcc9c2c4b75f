package explore

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// Three choices, and two more after the second of them, make four combinations.
func TestEveryCombinationOfEventsIsChosen(t *testing.T) {
	var all [][]int
	d := &interleaving{}
	for first := true; first || d.next(); first = false {
		made := []int{d.choose(3)}
		if made[0] == 1 {
			made = append(made, d.choose(2))
		}
		all = append(all, made)
	}
	assert.Equal(t, [][]int{{0}, {1, 0}, {1, 1}, {2}}, all)
	permutations := map[string]bool{}
	for order := range orders([]inputKind{leaseExpires, leadReturns, pauseDone}) {
		permutations[fingerprint(order)] = true
	}
	assert.Len(t, permutations, 6)
}

// hearable are the deliveries of all messages of the election that a member may receive.
func (m *model) hearable(i int) (all []inputID) {
	for id := range m.to[i].all {
		if !m.messages[id].engine {
			all = append(all, m.delivery(id))
		}
	}
	return all
}

// waiting is a step of a node with the first combination.
func (m *model) waiting(n *node, d *interleaving) *execution {
	w := m.newExecution(n, m.renamings[0])
	w.interleaving = d.begin(anyEvents)
	return w
}

// Every event comes during some wait, and its effect is the same as before or after the step. If it were not, that would
// be a violation.
func TestEventsDuringAWaitAreCompared(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	m := searched(t, Bounds{Members: 2, Terms: 2, Beats: 1, Leases: true, NoHints: true, NoPreVote: true, Withdrawals: true, Pauses: true}, 500).model
	told, broken := map[inputKind]int{}, 0
	for id := nodeID(1); int(id) < len(m.nodes); id++ {
		n := m.nodes[id]
		for _, in := range slices.Concat(m.own[n.index()], m.hearable(n.index())) {
			happens := func(w *execution) { w.apply(m.given(m.inputs[in], m.renamings[0])) }
			if in == m.crashInput || m.inputs[in].kind == alarmRings && n.time.wait > 0 {
				continue
			}
			d := new(interleaving).begin(anyEvents)
			for first := true; first || d.next(); first = false {
				w := m.newExecution(&n, m.renamings[0])
				w.interleaving = d
				happens(w)
				for _, what := range d.events {
					told[what]++
				}
			}
			happens(m.waiting(&n, d))
			wrong := m.checkInterleavings(d, &n, m.renamings[0], happens)
			require.True(t, wrong.none(), wrong.what)
			happens(m.waiting(&n, d))
			wrong = m.checkInterleavings(d, &n, m.renamings[0], func(w *execution) {
				happens(w)
				if w.interleaving != nil && len(w.interleaving.events) > 0 {
					w.node.session.Vote = memberstate.Nobody
				}
			})
			if wrong.invariant == invariant.LegalStep && !wrong.none() {
				broken++
			}
		}
	}
	for _, what := range waitEvents {
		assert.Positive(t, told[what], words[what])
	}
	assert.Positive(t, broken)
}
