// Which intervals a group can live with: those that Validate takes.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever timing is taken, a group elects with it, and where messages are quick but not
// all equally so it keeps its leader, with a lease if there are leases.
func TestWhateverTimingIsTakenWorks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := stageOptions{
			members: threeVoters(), timing: drawTiming(t), seed: rapid.Uint64().Draw(t, "seed"), leases: rapid.Bool().Draw(t, "leases"),
			noPreVote: rapid.Bool().Draw(t, "no pre-vote"), noRanks: rapid.Bool().Draw(t, "no ranks"),
		}
		if o.timing.Validate(o.leases) != nil {
			t.Skip("refused")
		}
		if left := o.timing.Detection() - o.timing.DriftMargin - o.timing.Heartbeat; o.leases && left > 0 && left < o.timing.Heartbeat/20 {
			t.Skip("it is for shorter round trips, which nobody can know")
		}
		livesWith(t, o)
	})
}

// A heartbeat that comes a little later than the last one finds its follower looking for
// another leader, and a lease that is no longer than a heartbeat is never renewed: what is
// refused does not work.
func TestWhatIsRefusedDoesNotWork(t *testing.T) {
	for _, refused := range []struct {
		leases bool
		change func(*Timing)
	}{
		{false, func(t *Timing) { t.Leak = 1 }},
		{true, func(t *Timing) { t.Leak = 1 }},
		{true, func(t *Timing) { t.DriftMargin = 2 * t.Heartbeat }},
	} {
		s := newStage(t, stageOptions{members: threeVoters(), leases: refused.leases})
		for _, a := range s.actors {
			refused.change(&a.rules.Timing)
			a.rules.Lease = min(a.rules.Lease, a.rules.Timing.Detection())
			require.Error(t, a.rules.Timing.Validate(refused.leases))
		}
		s.elect()
		require.False(t, s.keepsLeader(20), "%+v", s.actors[0].rules.Timing)
	}
}

func drawTiming(t *rapid.T) Timing {
	between := func(name string, least, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(least), int64(most)).Draw(t, name))
	}
	timing := Timing{
		Heartbeat:    between("heartbeat", time.Millisecond, 10*time.Second),
		Leak:         rapid.IntRange(1, 12).Draw(t, "leak"),
		MinVoteWait:  between("shortest wait", time.Millisecond, time.Second),
		RoundTimeout: between("round", time.Millisecond, 10*time.Second),
	}
	timing.MaxVoteWait = timing.MinVoteWait + between("spread", 1, 2*time.Second)
	timing.DriftMargin = between("margin", 1, timing.Detection())
	return timing
}

// livesWith elects, and looks whether that lasts.
func livesWith(t *rapid.T, o stageOptions) {
	s := newStage(t, o)
	s.delay = o.timing.Heartbeat / 100
	s.startAll()
	s.runUntil(20*(o.timing.Detection()+o.timing.MaxVoteWait+o.timing.RoundTimeout), "a first leader", s.settled)
	if !s.keepsLeader(5 * o.timing.Leak) {
		t.Fatalf("it is not kept with %+v\n%s", o.timing, s)
	}
}

// keepsLeader runs for some heartbeats, of which every other one takes a little longer, and
// says whether all follow the same leader all the time, and it holds a lease if it has leases.
func (s *stage) keepsLeader(heartbeats int) bool {
	leader, delay := s.leader(), s.delay
	term := leader.machine.Term
	for i := range heartbeats {
		s.delay = delay + delay*time.Duration(i%2)/8
		s.run(leader.rules.Timing.Heartbeat)
		_, leased := leader.lease()
		if !s.settled() || leader.machine.Term != term || i > 0 && leased != (leader.rules.Lease > 0) {
			return false
		}
	}
	return true
}
