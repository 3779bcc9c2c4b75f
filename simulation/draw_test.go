package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation"
)

// A world that is drawn can be played, and recorded as a text that plays it again.
func TestDrawnWorldsCanBePlayedAndRecorded(t *testing.T) {
	effort.Alone(t)
	for seed := range effort.Of[uint64](40, 10) {
		o := simulation.Draw(seed, simulation.Fixed{})
		o.Duration /= 4
		assertWrittenDown(t, o)
	}
}

// A trait that is drawn never, or always, shows nothing.
func TestEveryTraitIsDrawn(t *testing.T) {
	const seeds = 4000
	has := map[simulation.Trait]int{}
	leaks, shortest, longest := map[int]bool{}, time.Hour, time.Duration(0)
	groups := map[int]bool{}
	for seed := range uint64(seeds) {
		o := simulation.Draw(seed, simulation.Fixed{})
		require.NoError(t, o.Timing.Validate(true), "seed %d: %+v", seed, o.Timing)
		leaks[o.Timing.Leak], groups[o.Groups] = true, true
		shortest, longest = min(shortest, o.Timing.Heartbeat), max(longest, o.Timing.Heartbeat)
		for _, trait := range o.Traits() {
			has[trait]++
		}
	}
	for _, trait := range simulation.Traits() {
		assert.Greater(t, has[trait], seeds/100, trait)
		assert.Less(t, has[trait], seeds*3/4, trait)
	}
	assert.Greater(t, len(leaks), 80)
	assert.Greater(t, len(groups), 50)
	assert.True(t, groups[1] && groups[64])
	assert.Less(t, shortest, 2*time.Millisecond)
	assert.Greater(t, longest, time.Minute)
}

// Fixing one option changes no other, except that members without ranks have a wide range of waits.
func TestFixedOptionsAreNotDrawn(t *testing.T) {
	for seed := range uint64(50) {
		drawn := simulation.Draw(seed, simulation.Fixed{})
		some := drawn
		some.Members, some.NoRanks = 4, true
		if t := &some.Timing; t.Heartbeat != elector.DefaultTiming().Heartbeat {
			t.MaxVoteWait = max(t.MaxVoteWait, t.MinVoteWait+t.Heartbeat)
		}
		assert.Equal(t, some, simulation.Draw(seed, simulation.Fixed{Members: 4, Ranks: simulation.Off}))
		all := simulation.Fixed{
			Members: 5, Groups: 2, Leak: 7, Timing: elector.DefaultTiming(), Duration: time.Second,
			Leases: simulation.On, PreVote: simulation.On, Ranks: simulation.On,
		}
		timing := elector.DefaultTiming()
		timing.Leak = 7
		drawn = simulation.Options{
			Seed: seed, Term: drawn.Term, Counters: drawn.Counters, Observers: drawn.Observers, Preferred: drawn.Preferred, Judged: drawn.Judged,
			Beats: drawn.Beats, Campaigns: drawn.Campaigns, Uneven: drawn.Uneven,
		}
		some = simulation.Draw(seed, all)
		drawn.Vouch, drawn.Asked = some.Vouch, some.Asked // it is drawn in heartbeats
		drawn.Groups = 2
		drawn.Members, drawn.Timing, drawn.Duration, drawn.Leases = 5, timing, time.Second, true
		assert.Equal(t, drawn, some)
	}
}
