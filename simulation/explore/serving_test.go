package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation"
)

// Every Lead returns at once, and every step is also taken as if an old one had not. What
// then happens that otherwise would not is a violation.
func TestWhatIsDoneWhileAnOldLeadRunsIsLookedAt(t *testing.T) {
	m := searched(t, Bounds{Members: 2, Terms: 2, Beats: 1, NoTransfer: true, NoHints: true}, 0).model
	tried, leaders := 0, 0
	for id := nodeID(1); int(id) < len(m.nodes); id++ {
		n := m.nodes[id]
		require.False(t, n.office.ended, "a Lead that was told to return has done so")
		if !n.stillServing(m) {
			continue
		}
		if tried++; n.session.Role == memberstate.Leader {
			leaders++
		}
		now := m.returned(&n)
		assert.Equal(t, m.nodes[id], now, "it is the same when that has returned")

		nothing := []taken{{node: id}}
		same := m.alsoServing(id, nothing, func(*node) []taken { return nothing })
		assert.Equal(t, nothing, same)
		more := m.alsoServing(id, nothing, func(n *node) []taken {
			assert.True(t, n.office.runs && n.session.Serving())
			return []taken{{node: id, saved: true}}
		})
		assert.Equal(t, simulation.OneOffice, more[len(more)-1].defect.invariant)
	}
	assert.Positive(t, tried)
	assert.Positive(t, leaders)
}

// A member that leads serves, and its Lead is told to end when it does not lead any more.
func TestLeadRunsWhileItsMemberLeads(t *testing.T) {
	p, err := parsed(t, "explored\nmembers 1\n1 n0 alarm\n").play(newModel(Bounds{Members: 1, Terms: 2, Beats: 2, Withdrawals: true}, newRegistry()))
	require.NoError(t, err)
	require.True(t, p.defect.none())
	o := p.nodes[0].office
	assert.True(t, o.runs)
	assert.False(t, o.ended)
	assert.Equal(t, memberstate.Term(1), o.lead)
	require.NoError(t, p.act(&act{kind: returns, node: 0}), "early: it resigns")
	assert.Equal(t, memberstate.Candidate, p.nodes[0].session.Role)
	assert.False(t, p.nodes[0].session.Serving())
	assert.ErrorIs(t, p.act(&act{kind: returns, node: 0}), errTooEarly)
}
