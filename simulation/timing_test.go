package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hustings/hustings/elector"
)

// With every valid timing a group elects, and where messages are quick but not
// all equally so it keeps its leader, with a lease if there are leases.
func TestEveryValidTimingWorks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Timing: drawTiming(t), Leases: rapid.Bool().Draw(t, "leases"),
			NoPreVote: rapid.Bool().Draw(t, "no pre-vote"), NoRanks: rapid.Bool().Draw(t, "no ranks"),
		}
		if o.Timing.Validate(o.Leases) != nil {
			t.Skip("refused")
		}
		if left := o.Timing.Detection() - o.Timing.DriftMargin - o.Timing.Heartbeat; o.Leases && left > 0 && left < o.Timing.Heartbeat/20 {
			t.Skip("it is for shorter round trips, which nobody can know")
		}
		w := calmWorld(t, o)
		w.choices.Script = nil // chance decides
		w.branch(Branch{Seed: rapid.Uint64().Draw(t, "seed")})
		w.begin()
		require.True(t, w.settles(20*(o.Timing.Detection()+o.Timing.MaxVoteWait+o.Timing.RoundTimeout)), "there is no leader: %s", w.describe(0))
		require.True(t, w.keepsLeaderAndLease(5*o.Timing.Leak), "it is not kept with %+v: %s", o.Timing, w.describe(0))
	})
}

// A heartbeat that comes a little later than the last one finds its follower looking for
// another leader, and a lease that is no longer than a heartbeat is never renewed: what is
// refused does not work.
func TestRefusedTimingsDoNotWork(t *testing.T) {
	for _, refused := range []struct {
		leases bool
		change func(*elector.Timing)
	}{
		{false, func(t *elector.Timing) { t.Leak = 1 }},
		{true, func(t *elector.Timing) { t.Leak = 1 }},
		{true, func(t *elector.Timing) { t.DriftMargin = 2 * t.Heartbeat }},
	} {
		w := calmWorld(t, Options{Timing: elector.DefaultTiming(), Leases: refused.leases})
		for i := range w.nodes {
			r := w.nodes[i].members[0].rules()
			refused.change(&r.Timing)
			r.Lease = min(r.Lease, r.Timing.Detection())
			require.Error(t, r.Timing.Validate(refused.leases))
		}
		w.begin()
		require.True(t, w.settles(time.Second))
		require.False(t, w.keepsLeaderAndLease(20), "%+v", w.nodes[0].members[0].rules().Timing)
	}
}

// calmWorld is one in which nothing goes wrong, and messages take a hundredth of a heartbeat.
func calmWorld(t require.TestingT, o Options) *world {
	s := &Scenario{Options: o, Delay: o.Timing.Heartbeat / 100, Tick: time.Hour}
	w, err := s.world()
	require.NoError(t, err)
	return w
}

func drawTiming(t *rapid.T) elector.Timing {
	between := func(name string, least, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(least), int64(most)).Draw(t, name))
	}
	timing := elector.Timing{
		Heartbeat:    between("heartbeat", 10*time.Millisecond, 10*time.Second), // a save takes one
		Leak:         rapid.IntRange(1, 12).Draw(t, "leak"),
		MinVoteWait:  between("shortest wait", 10*time.Millisecond, time.Second),
		RoundTimeout: between("round", 10*time.Millisecond, 10*time.Second),
	}
	timing.MaxVoteWait = timing.MinVoteWait + between("spread", 1, 2*time.Second)
	timing.DriftMargin = between("margin", 1, timing.Detection())
	return timing
}

// settles runs until all follow a leader, and no longer than that.
func (w *world) settles(within time.Duration) bool {
	for !w.settled([]int{0, 1, 2}) && time.Duration(w.now) < within && !w.check.Over {
		w.run(time.Duration(w.now) + w.options.Timing.Heartbeat/2000)
	}
	return w.settled([]int{0, 1, 2})
}

// keepsLeaderAndLease runs for some heartbeats, of which every other one takes a little longer,
// and says whether all follow the same leader all the time, and it holds a lease if it has leases.
func (w *world) keepsLeaderAndLease(heartbeats int) bool {
	leader, delay := w.leader(0), w.network.delay
	if leader == nil {
		return false
	}
	term := leader.group.State().Term
	for i := range heartbeats {
		w.network.delay = delay + delay*time.Duration(i%2)/8
		w.run(time.Duration(w.now) + leader.rules().Timing.Heartbeat)
		leased := len(w.holders(0)) == 1
		if !w.settled([]int{0, 1, 2}) || leader.group.State().Term != term || i > 0 && leased != (leader.rules().Lease > 0) {
			return false
		}
	}
	return w.check.Violation == nil
}
