package operator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/operator"
)

// Every setting is changed by itself, and all others stay as they are.
func TestSettingsAreChangedOneByOne(t *testing.T) {
	s := newSite(t)
	leader := s.leader(0).Leader
	c := s.dial(other(leader))
	want, err := c.Settings(s.ctx, "orders", operator.Changes{})
	require.NoError(t, err)
	assert.Equal(t, operator.Settings{Node: other(leader), Timing: want.Timing, Electable: true}, want)
	no := false
	for _, step := range []func(*operator.Changes){
		func(c *operator.Changes) {
			c.Timing.Heartbeat = 90 * time.Millisecond
			want.Timing.Heartbeat = 90 * time.Millisecond
		},
		func(c *operator.Changes) { c.Timing.Leak = 4; want.Timing.Leak = 4 },
		func(c *operator.Changes) {
			c.Timing.MinVoteWait = 31 * time.Millisecond
			want.Timing.MinVoteWait = 31 * time.Millisecond
		},
		func(c *operator.Changes) {
			c.Timing.MaxVoteWait = 102 * time.Millisecond
			want.Timing.MaxVoteWait = 102 * time.Millisecond
		},
		func(c *operator.Changes) {
			c.Timing.RoundTimeout = 103 * time.Millisecond
			want.Timing.RoundTimeout = 103 * time.Millisecond
		},
		func(c *operator.Changes) {
			c.Timing.DriftMargin = 16 * time.Millisecond
			want.Timing.DriftMargin = 16 * time.Millisecond
		},
		func(c *operator.Changes) { c.Preferred = []string{leader}; want.Preferred = []string{leader} },
		func(c *operator.Changes) { c.Electable = &no; want.Electable = false },
		func(c *operator.Changes) { c.Preferred = []string{}; want.Preferred = nil },
	} {
		var change operator.Changes
		step(&change)
		now, err := c.Settings(s.ctx, "orders", change)
		require.NoError(t, err)
		assert.Equal(t, want, now)
	}
	report, err := c.Status(s.ctx, "orders")
	require.NoError(t, err)
	assert.True(t, report[0].LastChoice)
}

// A refusal names the field, and nothing after it is changed.
func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	s := newSite(t)
	c := s.dial(s.leader(0).Leader)
	no := false
	_, err := c.Settings(s.ctx, "orders", operator.Changes{Timing: elector.Timing{Leak: 1}, Electable: &no})
	require.ErrorContains(t, err, "Timing.Leak is 1")
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	_, err = c.Settings(s.ctx, "orders", operator.Changes{Preferred: []string{"n9"}, Electable: &no})
	require.ErrorContains(t, err, `"n9", which is no voter`)
	now, err := c.Settings(s.ctx, "orders", operator.Changes{})
	require.NoError(t, err)
	assert.True(t, now.Electable)
}

func TestSettingsPrintThemselves(t *testing.T) {
	s := operator.Settings{Node: "n1", Timing: elector.DefaultTiming(), Electable: true}
	const timing = "n1: heartbeat 100ms, leak 3, vote wait 30ms to 100ms, round timeout 100ms, drift margin 15ms"
	assert.Equal(t, timing, s.String())
	s.Preferred, s.Electable = []string{"n0", "n1"}, false
	assert.Equal(t, timing+", preferred n0 and n1, leads only if no other voter can", s.String())
}
