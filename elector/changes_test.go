package elector_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// slow has longer intervals than DefaultTiming.
func slow() elector.Timing {
	t := elector.DefaultTiming()
	t.Heartbeat, t.RoundTimeout = time.Second, time.Second
	return t
}

// The intervals and the preferred leaders of a running group are changed at one member after the other, while
// its leader leads on.
func TestARunningGroupIsChanged(t *testing.T) {
	withCluster(t, 3, func(c *config) { c.Leases = true }, func(c *cluster) {
		leader := c.awaitLeader()
		term := leader.el.Status().Term
		for _, n := range c.nodes {
			require.NoError(t, n.el.SetTiming(slow()))
			assert.Equal(t, slow(), n.el.Timing())
			c.pass(10 * time.Second)
		}
		assert.Equal(t, term, c.awaitLeader().el.Status().Term)
		heir := c.ids[0]
		if heir == leader.id {
			heir = c.ids[1]
		}
		for _, n := range c.nodes {
			require.NoError(t, n.el.SetPreferred(heir))
			assert.Equal(t, []string{heir}, n.el.Preferred())
		}
		c.pass(10 * slow().Detection())
		assert.Equal(t, heir, c.awaitLeader().id)
	})
}

// They restart the detection time as often as the new intervals need.
func TestAppendsAreHeartbeatsAlsoByShorterIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := goodConfig()
		c.Timing.Heartbeat, c.Timing.RoundTimeout = time.Minute, time.Minute
		el := startElector(t, c)
		require.NoError(t, el.SetTiming(elector.DefaultTiming()))
		for range 100 {
			require.NoError(t, el.Heard(1, "n1"))
			<-time.After(elector.DefaultTiming().Heartbeat) // virtual time
			synctest.Wait()
			assert.Equal(t, "n1", el.Status().Leader)
		}
		require.NoError(t, el.Stop(t.Context()))
	})
}

// What a group cannot do is refused, and changes nothing.
func TestARunningGroupRefusesSettings(t *testing.T) {
	withCluster(t, 3, nil, func(c *cluster) {
		el := c.awaitLeader().el
		var field *elector.ConfigError
		require.ErrorAs(t, el.SetTiming(elector.Timing{}), &field)
		assert.Equal(t, elector.DefaultTiming(), el.Timing())
		require.ErrorAs(t, el.SetPreferred("nobody"), &field)
		assert.Equal(t, "Preferred", field.Field)
		assert.Empty(t, el.Preferred())
		require.ErrorAs(t, el.SetWeight(256), &field)
		assert.Equal(t, "Weight", field.Field)
	})
	el := elector.MustJoin(t, elector.IsolatedHost(t, new(memberstate.MemStore)), elector.GroupOf("g", "n0"))
	assert.ErrorIs(t, el.SetTiming(slow()), elector.ErrStopped)
	assert.ErrorIs(t, el.SetPreferred(), elector.ErrStopped)
	assert.ErrorIs(t, el.SetWeight(2), elector.ErrStopped)
	assert.ErrorIs(t, el.Electable(false), elector.ErrStopped)
}
