package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// newJudged is a node with a function that judges all engines, and two groups.
func newJudged(t *testing.T) (w *watched, other *Group) {
	t.Helper()
	w = newWatched(t, 0)
	w.judges = true
	g := NewGroup(w.group.Electorate, "h", w)
	require.NoError(t, g.Restore(memberstate.Record{}, false, memberstate.Position{}))
	w.node.Start(&g)
	return w, &g
}

// hears has a group hear something after a while. No alarm rings.
func (w *watched) hears(g *Group, after time.Duration) Inability {
	w.node.At(w.node.now + after)
	w.node.Deliver(g, &rpc.Message{
		Group: g.name, From: "n1", To: "n0", Voters: g.Members.Digest(), Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success},
	})
	w.node.lookAtAll()
	return g.Inability()
}

// names has the function name groups.
func (w *watched) names(groups ...*Group) {
	w.node.Stalled(groups)
	w.node.lookAtAll()
}

func TestOneFunctionJudgesAllEngines(t *testing.T) {
	w, other := newJudged(t)
	beat, detection := w.group.Rules.Timing.Heartbeat, w.group.Rules.Timing.Detection()
	assert.Equal(t, Able, w.hears(&w.group, 1))
	assert.Equal(t, Able, w.hears(other, 1))
	assert.Equal(t, 1, w.judged, "it is asked once for all groups")
	assert.Equal(t, detection, w.within)
	w.names(other, other)
	assert.Equal(t, NotAbleUnhealthy, other.Inability())
	assert.Equal(t, Able, w.group.Inability())
	assert.Nil(t, w.group.ability(), "a group that is well costs no memory")

	w.hears(&w.group, beat*3/4-2)
	assert.Equal(t, 1, w.judged)
	w.hears(&w.group, 1)
	assert.Equal(t, 2, w.judged, "once a heartbeat, whatever group is heard of")
	w.names(&w.group)
	assert.Equal(t, NotAbleUnhealthy, w.group.Inability())
	assert.Equal(t, NotAbleHold, other.Inability(), "it is named no more")
	assert.Equal(t, Able, w.hears(other, detection))
	w.names()
	assert.Equal(t, NotAbleHold, w.group.Inability())
}

// An operator may have changed the intervals since the group joined.
func TestAJudgeIsAskedOnceInAHeartbeatOfToday(t *testing.T) {
	w, _ := newJudged(t)
	beat := w.group.Rules.Timing.Heartbeat / 10
	changed(&w.group).Timing.Heartbeat = beat
	for asked := range 3 {
		w.hears(&w.group, beat)
		assert.Equal(t, asked+1, w.judged)
		w.names()
	}
}

func TestAJudgeThatDoesNotReturnMakesItsNodeUnable(t *testing.T) {
	w, other := newJudged(t)
	beat, detection := w.group.Rules.Timing.Heartbeat, w.group.Rules.Timing.Detection()
	assert.Equal(t, Able, w.hears(&w.group, 0))
	assert.Equal(t, Able, w.hears(&w.group, detection/2))
	assert.Equal(t, Able, w.hears(&w.group, detection-detection/2))
	assert.Equal(t, NotAbleSilent, w.hears(&w.group, 1))
	assert.Equal(t, NotAbleSilent, w.hears(other, 0))
	assert.Equal(t, 1, w.judged, "it is not asked again before it has answered")
	w.names()
	assert.Equal(t, NotAbleSilent, other.Inability(), "it has heard nothing since")
	assert.Equal(t, NotAbleHold, w.hears(other, beat))
	assert.Equal(t, 2, w.judged)
	assert.Equal(t, NotAbleHold, w.hears(&w.group, 1))
}

// If the process has not run for a while, the function has not either. That is forgiven once.
func TestAProcessThatWasStoppedWaitsForItsJudge(t *testing.T) {
	w, _ := newJudged(t)
	detection := w.group.Rules.Timing.Detection()
	assert.Equal(t, Able, w.hears(&w.group, 0))
	assert.Equal(t, Able, w.hears(&w.group, time.Hour))
	assert.Equal(t, Able, w.hears(&w.group, detection/2))
	assert.Equal(t, NotAbleSilent, w.hears(&w.group, 1))

	w, _ = newJudged(t)
	assert.Equal(t, Able, w.hears(&w.group, 0))
	assert.Equal(t, Able, w.hears(&w.group, detection/2))
	assert.Equal(t, Able, w.hears(&w.group, detection/2))
	assert.Equal(t, NotAbleSilent, w.hears(&w.group, 1))
	assert.Equal(t, NotAbleSilent, w.hears(&w.group, time.Hour), "it was overdue before")

	w, _ = newJudged(t)
	assert.Equal(t, Able, w.hears(&w.group, 0))
	assert.Equal(t, Able, w.hears(&w.group, time.Hour))
	assert.Equal(t, NotAbleSilent, w.hears(&w.group, time.Hour))
	w.names()
	assert.Equal(t, NotAbleHold, w.hears(&w.group, time.Hour), "nothing is overdue, so nothing is forgiven")
	assert.Equal(t, 2, w.judged)
	assert.Equal(t, NotAbleHold, w.hears(&w.group, detection/2))
	assert.Equal(t, Able, w.hears(&w.group, detection/2))
	assert.Equal(t, NotAbleSilent, w.hears(&w.group, 1))
}

// It has answered in between.
func TestEachStopOfAProcessIsForgivenToItsJudge(t *testing.T) {
	w, _ := newJudged(t)
	for asked := range 3 {
		assert.Equal(t, Able, w.hears(&w.group, w.group.Rules.Timing.Heartbeat))
		require.Equal(t, asked+1, w.judged)
		assert.Equal(t, Able, w.hears(&w.group, time.Hour))
		w.names()
	}
}

func TestALeaderThatHearsNothingAsksWhenItsAlarmRings(t *testing.T) {
	w, _ := newJudged(t)
	w.node.At(w.node.now + time.Hour)
	w.node.EndTurn()
	assert.Equal(t, 1, w.judged)
}

func TestANodeWithoutAJudgeAsksOnce(t *testing.T) {
	w, _ := newJudged(t)
	w.judges = false
	for range 3 {
		assert.Equal(t, Able, w.hears(&w.group, time.Hour))
	}
	assert.Equal(t, 1, w.judged)
	assert.Zero(t, w.group.working)
}

func TestGroupsThatDoNotTakePartAreNotJudged(t *testing.T) {
	w, other := newJudged(t)
	w.hears(&w.group, 0)
	w.node.End(&w.group)
	assert.EqualValues(t, 1, w.group.working, "it is not over before the answer has come")
	early := NewGroup(w.group.Electorate, "early", w)
	w.names(&w.group, &early, other)
	assert.Nil(t, w.group.ability())
	assert.Nil(t, early.ability())
	assert.Equal(t, []*Group{other}, w.node.stalled.named)
	assert.Zero(t, w.group.working)
	w.node.End(other)
	assert.Empty(t, w.node.stalled.named)
}
