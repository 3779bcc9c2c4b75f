package simulation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/invariant"
)

// run plays a seed with options that must be good.
func run(t *testing.T, o simulation.Options) simulation.Result {
	t.Helper()
	r, err := simulation.Run(o)
	require.NoError(t, err)
	return r
}

// campaign runs seeds, none of which may break an election, and adds up what struck
// and what was checked.
func campaign(t *testing.T, seeds uint64, o simulation.Options) *simulation.Summary {
	t.Helper()
	total := simulation.NewSummary()
	for o.Seed = range seeds {
		r := run(t, o)
		if r.Violation != nil {
			require.NoError(t, r.Violation, "%+v", o)
		}
		total.Add(r)
	}
	return total
}

// quick is about the shortest timing that the simulated networks leave room for.
func quick() elector.Timing {
	return elector.Timing{
		Heartbeat: 20 * time.Millisecond, Leak: 2, MinVoteWait: 5 * time.Millisecond, MaxVoteWait: 20 * time.Millisecond,
		RoundTimeout: 20 * time.Millisecond, DriftMargin: 2 * time.Millisecond,
	}
}

func TestNothingBreaksAnElection(t *testing.T) {
	effort.Alone(t)
	for _, o := range []simulation.Options{
		{Members: 3},
		{Members: 5, Leases: true},
		{Members: 4, NoRanks: true},
		{Members: 7, NoPreVote: true},
		{Members: 1},
		{Members: 2},
		{Members: 3, Leases: true, Timing: quick()},
		{Members: 3, Groups: 4, Leases: true},
		{Members: 5, Groups: 2, NoRanks: true},
	} {
		o.Duration = 20 * time.Second
		t.Run(fmt.Sprintf("%d members, %d groups", o.Members, max(o.Groups, 1)), func(t *testing.T) {
			total := campaign(t, effort.Of[uint64](60, 15), o)
			t.Logf("%d events, %d elections, %.0f s", total.Events, total.Elections, total.Virtual)
		})
	}
}

// A fault that never strikes, or an invariant that is never checked, shows nothing.
func TestEverythingStrikesAndEverythingIsChecked(t *testing.T) {
	effort.Alone(t)
	total := campaign(t, 60, simulation.Options{Members: 5})
	total.Merge(campaign(t, 200, simulation.Options{Members: 3, Leases: true}))
	total.Merge(campaign(t, 100, simulation.Options{Members: 3, Leases: true, Faults: simulation.FaultsOf(simulation.ClockFaults, simulation.NetworkFaults)}))
	total.Merge(campaign(t, 10, simulation.Options{Members: 3, Groups: 3}))
	total.Merge(campaign(t, 30, simulation.Options{Members: 5, Faults: simulation.FaultsOf(simulation.AssumptionFaults)}))
	total.Merge(campaign(t, 20, simulation.Options{Members: 3, Vouch: 300 * time.Millisecond}))
	total.Merge(campaign(t, 20, simulation.Options{Members: 3, Vouch: 300 * time.Millisecond, Asked: true}))
	total.Merge(campaign(t, 20, simulation.Options{Members: 3, Groups: 2, Judged: true}))
	total.Merge(campaign(t, 20, simulation.Options{Members: 3, Groups: 2, Beats: true}))
	total.Merge(campaign(t, 20, simulation.Options{Members: 2, Groups: 4, Beats: true, Campaigns: 1}))
	total.Merge(campaign(t, 40, simulation.Options{Members: 3, Groups: 6, Beats: true, Leases: true}))
	for _, f := range simulation.Faults() {
		assert.Positive(t, total.Struck[f], "%v never struck", f)
	}
	for _, i := range invariant.All() {
		assert.Positive(t, total.Checked[i], "%v was never checked", i)
	}
	for _, c := range simulation.Conditions() {
		assert.Positive(t, total.Met[c], "%v never came about", c)
	}
	assert.Positive(t, total.Excused[invariant.OneLease], "clocks beyond the margin must break leases, or nobody looks")
}

// Broken assumptions are detected where that is possible, and what rests on them is excused.
func TestBrokenAssumptions(t *testing.T) {
	effort.Alone(t)
	for f, told := range map[simulation.Fault]bool{
		simulation.Wiped: true, simulation.OtherMembers: true, simulation.RolledBack: true, simulation.Twin: true,
	} {
		set, err := simulation.ParseFaults("all," + f.String())
		require.NoError(t, err)
		total := campaign(t, effort.Of[uint64](200, 60), simulation.Options{Members: 3, Beats: true, Faults: set, Duration: 20 * time.Second})
		assert.Positive(t, total.Assumed[f], "%v", f)
		assert.Equal(t, told, total.Told[f] > 0, "%v", f)
		t.Logf("%v: struck in %d runs, told in %d; excused: %v", f, total.Assumed[f], total.Told[f], total.Excused)
	}
}

// A world without faults must have a leader and keep it, too.
func TestNothingGoesWrongWhereNothingStrikes(t *testing.T) {
	total := campaign(t, 5, simulation.Options{Members: 5, Faults: simulation.NoFaults(), Duration: 10 * time.Second})
	assert.LessOrEqual(t, total.Elections, uint64(25), "one each, another one where the majority that stays is not the leader's, one for the leader that is cut off while all drain, one for the leader that is kept from its work, and one for the leader that is then cut off")
	assert.EqualValues(t, 2*5, total.Checked[invariant.Converges], "once more when all nodes drain")
}

// Nothing may depend on the wall clock.
func TestTheWallClockHasNoEffect(t *testing.T) {
	for seed := range uint64(20) {
		s, _, err := simulation.Record(simulation.Options{Seed: seed, Duration: 10 * time.Second, Faults: faultsOf(t, "wall-jump,crash,loss")})
		require.NoError(t, err)
		with, err := s.Run()
		require.NoError(t, err)
		s.Strikes = slices.DeleteFunc(s.Strikes, func(k simulation.Strike) bool { return k.Fault == simulation.WallJump })
		without, err := s.Run()
		require.NoError(t, err)
		assert.Equal(t, with.Digest, without.Digest)
	}
}

// A packed group does what it would do if it were not packed.
func TestPackingChangesNothing(t *testing.T) {
	for seed := range effort.Of[uint64](1000, 60) {
		o := simulation.Options{
			Seed: seed, Members: 3 + 2*int(seed%2), Groups: 1 + int(seed%5), Leases: seed%3 > 0, Beats: true, Duration: 20 * time.Second,
		}
		packs := run(t, o)
		o.Open = true
		assert.Equal(t, run(t, o).Digest, packs.Digest, "seed %d", seed)
	}
}

func faultsOf(t *testing.T, list string) simulation.FaultSet {
	t.Helper()
	set, err := simulation.ParseFaults(list)
	require.NoError(t, err)
	return set
}

func TestTheSameSeedIsTheSameRun(t *testing.T) {
	digests := map[uint64]bool{}
	for seed := range uint64(20) {
		o := simulation.Options{Seed: seed, Members: 5, Leases: seed%2 == 0, Duration: 10 * time.Second}
		r := run(t, o)
		assert.Equal(t, r, run(t, o), "seed %d", seed)
		digests[r.Digest] = true
	}
	assert.Len(t, digests, 20, "and another seed is another run")
}

// An engine that breaks either half of its promise loses a committed entry, and that is noticed.
func TestACarelessEngineIsCaught(t *testing.T) {
	effort.Alone(t)
	for _, kind := range []simulation.Carelessness{simulation.CarelessAlways, simulation.CarelessOverlap} {
		t.Run(kind.String(), func(t *testing.T) {
			if kind == simulation.CarelessOverlap {
				effort.Long(t)
			}
			for seed := range uint64(4000) {
				r := run(t, simulation.Options{Seed: seed, Members: 5, Careless: kind})
				if r.Violation != nil {
					assert.Equal(t, invariant.CommittedStays, r.Violation.Invariant, r.Violation)
					lost := r.Violation.Lost
					require.NotNil(t, lost)
					assert.Contains(t, r.Violation.Error(), lost.String())
					assert.GreaterOrEqual(t, len(lost.Acknowledged), 3, "a majority")
					assert.Contains(t, lost.Missing, r.Violation.Node)
					t.Logf("seed %d: %v", seed, r.Violation)
					return
				}
			}
			assert.Fail(t, "no careless engine was caught")
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for says, o := range map[string]simulation.Options{
		"Members is 10":    {Members: 10},
		"Timing.Leak":      {Timing: elector.Timing{Heartbeat: 1}},
		"Members is -1":    {Members: -1},
		"Groups is 65":     {Groups: 65},
		"Groups is -1":     {Groups: -1},
		"Duration is -1ns": {Duration: -1},
		"Careless is 3":    {Careless: 3},
		"Faults has bits":  {Faults: simulation.FaultSet{0, 1 << 62}},
		"Branches[0].At":   {Branches: []simulation.Branch{{At: -1}}},
	} {
		_, err := simulation.Run(o)
		assert.ErrorContains(t, err, says)
	}
}

func BenchmarkRun(b *testing.B) {
	run := func(name string, world func(seed uint64) simulation.Options) {
		b.Run(name, func(b *testing.B) {
			var events uint64
			for seed := range uint64(b.N) {
				r, err := simulation.Run(world(seed))
				require.NoError(b, err)
				events += r.Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
	for name, faults := range map[string]simulation.FaultSet{"none": simulation.NoFaults(), "all": simulation.DefaultFaults()} {
		for _, members := range []int{3, 5} {
			run(fmt.Sprintf("faults=%s/members=%d", name, members), func(seed uint64) simulation.Options {
				return simulation.Options{Seed: seed, Members: members, Faults: faults}
			})
		}
	}
	for _, groups := range []int{1, 4} {
		run(fmt.Sprintf("drawn/groups=%d", groups), func(seed uint64) simulation.Options { // as the command draws them
			o := simulation.Draw(seed, simulation.Fixed{Groups: groups})
			o.Faults = simulation.DefaultFaults()
			return o
		})
	}
}
