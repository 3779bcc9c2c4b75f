package main

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counted is a series whose values are 1, 2, 3.
func counted(side string, number int) *series {
	var n atomic.Int64
	return &series{side: side, number: number, try: func(context.Context) (float64, error) { return float64(n.Add(1)), nil }}
}

var most = []aspect{quantile("longest", 1), {"positive", "%", positive}}

func quiet(float64) {}

func TestSeriesAreComparedAspectByAspect(t *testing.T) {
	ours, peer := counted("memory", 4), counted("peer", 5)
	figures, err := compare(t.Context(), "s", []comparison{{"it", "TTL", ours, peer, most}, {"it", "TTL", counted("PostgreSQL", 2), nil, most}}, quiet)
	require.NoError(t, err)
	require.Len(t, figures, 4)
	assert.Equal(t, "it, memory: longest", figures[0].Name)
	assert.Equal(t, "TTL", figures[0].Unit)
	assert.InDelta(t, 4, figures[0].Ours, 0)
	assert.InDelta(t, 5, *figures[0].Peer, 0)
	require.NotNil(t, figures[0].Spread)
	assert.InDelta(t, 0.75, *figures[0].Spread, 0)
	assert.Equal(t, "%", figures[1].Unit)
	assert.InDelta(t, 100, figures[1].Ours, 0)
	assert.Nil(t, figures[1].Spread, "a share has none")
	assert.Nil(t, figures[2].Peer)
}

func TestASeriesOfTwoLinesIsRunOnce(t *testing.T) {
	peer := counted("peer", 5)
	_, err := compare(t.Context(), "s", []comparison{{"it", "TTL", counted("a", 1), peer, most}, {"it", "TTL", counted("b", 1), peer, most}}, quiet)
	require.NoError(t, err)
	assert.Len(t, peer.values, 5)
}

func TestATrialThatFailsIsAnError(t *testing.T) {
	bad := &series{side: "bad", number: 1000, try: func(context.Context) (float64, error) { return 0, assert.AnError }}
	good := counted("good", 1)
	figures, err := compare(t.Context(), "s", []comparison{{"it", "TTL", bad, nil, most}}, quiet)
	require.ErrorIs(t, err, assert.AnError)
	assert.Empty(t, figures)
	require.NoError(t, run(t.Context(), []*series{good}, quiet))
}

func TestTrialsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int64
	s := &series{side: "s", number: 1000, try: func(ctx context.Context) (float64, error) {
		begun.Add(1)
		cancel()
		return 0, ctx.Err()
	}}
	require.NoError(t, run(ctx, []*series{s}, quiet), "an interrupt is no failure")
	assert.LessOrEqual(t, begun.Load(), int64(atOnce))
	assert.Empty(t, s.values)
}
