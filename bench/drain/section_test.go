package drain

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
)

// rowsOf are ours, and the peer's, with these outcomes.
func rowsOf(ours, peer Outcome) []measure.Row[Outcome] {
	return []measure.Row[Outcome]{{Results: []Outcome{ours}}, {Name: newer, Results: []Outcome{peer}}}
}

func TestFiguresHaveNamesOfTheirOwn(t *testing.T) {
	for _, p := range []figure.Plan{{}, {Quick: true}, {Long: true}} {
		seen := map[string]bool{}
		all := stages(p)
		for i := range all {
			s := &all[i]
			for _, f := range figuresOf(s, rowsOf(Outcome{}, Outcome{})) {
				assert.False(t, seen[f.Name], f.Name)
				seen[f.Name] = true
				assert.Equal(t, Name, f.Section)
			}
		}
	}
}

func TestFiguresAreOfTheFirstDrainAndOfTheSecond(t *testing.T) {
	ours := Outcome{First: Drain{Moved: 100, Seconds: 2, CPU: 0.5}, Second: Drain{Moved: 50, Seconds: 5}, Back: 7}
	peer := Outcome{First: Drain{Moved: 100, Seconds: 4, CPU: 1}}
	s := &stage{task: Task{Groups: 300, Save: usualSave}, main: true}
	all := map[string]figure.Figure{}
	for _, f := range figuresOf(s, rowsOf(ours, peer)) {
		all[f.Chart] = f
	}
	moves := all["moves"]
	assert.InDelta(t, 50, moves.Ours, 0)
	require.NotNil(t, moves.Peer)
	assert.InDelta(t, 25, *moves.Peer, 0)
	assert.True(t, moves.MoreIsBetter())
	assert.False(t, moves.Detail)
	assert.InDelta(t, 10, all["the second drain: moves"].Ours, 0)
	assert.InDelta(t, 5000, all["CPU time of a move"].Ours, 0)
	assert.Nil(t, all["until Drain returns"].Peer, "the peer has nothing of the kind")
	assert.InDelta(t, 7, all["groups that have come back a minute after the node serves again"].Ours, 0)
	s.task.Save = 0
	for _, f := range figuresOf(s, rowsOf(ours, peer)) {
		assert.NotEqual(t, "moves", f.Chart, "nothing takes time")
	}
}
