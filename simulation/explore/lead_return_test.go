package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// Every Lead returns at once, and every step is also taken as if an old one had not. A step that then has another
// effect is a violation.
func TestStepsDuringAnOldLeadAreCompared(t *testing.T) {
	m := searched(t, Bounds{Members: 2, Terms: 2, Beats: 1, NoTransfer: true, NoHints: true}, 0).model
	tried, leaders := 0, 0
	for id := nodeID(1); int(id) < len(m.nodes); id++ {
		n := m.nodes[id]
		require.False(t, n.driver.ended, "a Lead that was told to return has done so")
		if !n.stillServing(m) {
			continue
		}
		if tried++; n.session.Role == memberstate.Leader {
			leaders++
		}
		now := m.returned(&n)
		assert.Equal(t, m.nodes[id], now, "it is the same when that has returned")

		nothing := []stepResult{{node: id}}
		same := m.checkStillServing(id, nothing, func(*node) []stepResult { return nothing })
		assert.Equal(t, nothing, same)
		more := m.checkStillServing(id, nothing, func(n *node) []stepResult {
			assert.True(t, n.driver.runs && n.session.Serving())
			return []stepResult{{node: id, saved: true}}
		})
		assert.Equal(t, invariant.OneOffice, more[len(more)-1].defect.invariant)
	}
	assert.Positive(t, tried)
	assert.Positive(t, leaders)
}

// A member that leads serves, and the context of its Lead ends when it does not lead any more.
func TestLeadRunsWhileItsMemberLeads(t *testing.T) {
	p, err := parsed(t, "explored\nmembers 1\n1 n0 alarm\n").play(newModel(Bounds{Members: 1, Terms: 2, Beats: 2, Withdrawals: true}, newRegistry()))
	require.NoError(t, err)
	require.True(t, p.defect.none())
	o := p.nodes[0].driver
	assert.True(t, o.runs)
	assert.False(t, o.ended)
	assert.Equal(t, memberstate.Term(1), o.lead)
	require.NoError(t, p.act(&act{kind: leadReturns, node: 0}), "early: it resigns")
	assert.Equal(t, memberstate.Candidate, p.nodes[0].session.Role)
	assert.False(t, p.nodes[0].session.Serving())
	assert.ErrorIs(t, p.act(&act{kind: leadReturns, node: 0}), errTooEarly)
}

// A member alone extends its lease whenever it attends to anything. The return of an old Lead may do no more than
// that.
func TestAMemberThatIsAloneMayExtendItsLeaseWhenALeadReturns(t *testing.T) {
	r, err := Explore(t.Context(), Options{Bounds: Bounds{Members: 1, Terms: 2, Beats: 2, Leases: true, Withdrawals: true}})
	require.NoError(t, err)
	assert.Nil(t, r.Violation)
	assert.True(t, r.Complete)
}

// A handover waits for an engine that takes its time to pause its writes. If the engine cannot pause them, the office
// stays as it was.
func TestAHandoverWaitsForThePause(t *testing.T) {
	const way = "explored\nmembers 2\npauses on\n1 n0 alarm\n2 n1 hears 1\n3 n0 hears 2\n4 n1 hears 3\n5 n0 hears 4\n6 n1 hears 5\n7 n0 hands-over-to n1\n8 n1 hears 7\n9 n0 hears 8\n"
	s := parsed(t, way)
	p, err := s.play(newModel(s.bounds(), newRegistry()))
	require.NoError(t, err)
	require.True(t, p.defect.none())
	asked := func() protocol.HandoverPhase { return p.nodes[0].session.Handover().Phase }
	require.Equal(t, protocol.Pausing, asked())
	said := len(p.sent)
	require.NoError(t, p.act(&act{kind: latePauseDone, node: 0}))
	assert.Equal(t, protocol.Pausing, asked(), "that was an earlier one")
	paused := p.clone()
	require.NoError(t, paused.act(&act{kind: pauseDone, node: 0}))
	assert.Equal(t, protocol.Taking, paused.nodes[0].session.Handover().Phase)
	assert.True(t, paused.nodes[0].driver.paused)
	assert.ErrorIs(t, paused.act(&act{kind: pauseDone, node: 0}), errTooEarly, "it is not asked again")
	require.NoError(t, p.act(&act{kind: pauseFails, node: 0}))
	assert.Equal(t, protocol.NoHandover, asked())
	assert.Equal(t, memberstate.Leader, p.nodes[0].session.Role)
	assert.False(t, p.nodes[0].driver.paused)
	for _, sent := range p.sent[said:] {
		assert.Empty(t, sent)
	}
	assert.Equal(t, way, s.String())
}

// A leader's step waits for LedgerEnd, which hangs. Then the order that is the input has no effect, and the office
// ends. No other step can hang.
func TestALedgerEndThatHangsEndsTheOffice(t *testing.T) {
	const way = "explored\nmembers 2\n1 n0 alarm\n2 n1 hears 1\n3 n0 hears 2\n4 n1 hears 3\n5 n0 hears 4\n"
	s := parsed(t, way)
	p, err := s.play(newModel(s.bounds(), newRegistry()))
	require.NoError(t, err)
	require.Equal(t, memberstate.Leader, p.nodes[0].session.Role)
	require.NoError(t, p.act(&act{kind: handsOver, node: 0, other: 1, inVain: true}))
	require.True(t, p.defect.none(), p.defect.what)
	assert.Equal(t, memberstate.Candidate, p.nodes[0].session.Role)
	assert.True(t, p.nodes[0].driver.ended)
	assert.Empty(t, p.sent[len(p.sent)-1])
	assert.Contains(t, p.steps[len(p.steps)-1].What, inVain)
	assert.ErrorIs(t, p.act(&act{kind: alarmRings, node: 1, inVain: true}), errNoWait)
}

// A leader hands over because something of it hangs. It orders its heir to stand at once, without a pause and without
// an end of its ledger.
func TestALeaderThatHangsHandsOverWithoutAPause(t *testing.T) {
	const way = "explored\nmembers 2\npauses on\n1 n0 is-unwell\n2 n0 alarm\n3 n1 hears 2\n4 n0 hears 3\n5 n1 hears 4\n6 n0 hears 5\n7 n1 hears 6\n8 n0 hears 7\n"
	s := parsed(t, way)
	p, err := s.play(newModel(s.bounds(), newRegistry()))
	require.NoError(t, err)
	require.Equal(t, memberstate.Leader, p.nodes[0].session.Role)
	weak := p.clone()
	require.NoError(t, p.act(&act{kind: hangs, node: 0}))
	require.True(t, p.defect.none(), p.defect.what)
	assert.Equal(t, protocol.Taking, p.nodes[0].session.Handover().Phase)
	require.NoError(t, weak.act(&act{kind: isUnwell, node: 0}), "it has another reason of the same kind")
	assert.Equal(t, protocol.NotAbleOrdered, weak.nodes[0].session.Inability())
	assert.Equal(t, protocol.Probing, weak.nodes[0].session.Handover().Phase)
	require.NoError(t, weak.act(&act{kind: isAble, node: 0}))
	assert.Equal(t, protocol.NoHandover, weak.nodes[0].session.Handover().Phase)
}
