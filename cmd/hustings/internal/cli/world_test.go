// What the flags that describe a world mean for its seeds.

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/leases"
)

// simulating returns the flags of a command line of sim.
func simulating(t *testing.T, line string) *simFlags {
	t.Helper()
	f := new(simFlags)
	cmd := f.command()
	require.NoError(t, cmd.ParseFlags(strings.Fields(line)))
	require.NoError(t, f.forShell(cmd.Flags()))
	require.NoError(t, f.check())
	return f
}

func TestASeedDrawsNothingThatAFlagDecides(t *testing.T) {
	one := simulating(t, "--members 4 --groups 3 --duration 9s --timing dledger --leak 7 --faults network --leases --pre-vote=off --ranks --careless=overlap")
	other := simulating(t, "--timing default --leak 5 --leases=off --pre-vote --ranks=off")
	network, err := simulation.ParseFaults("network")
	require.NoError(t, err)
	for seed := range uint64(12) {
		o := one.world.options(seed)
		want := o // what no flag decides
		want.Seed, want.Members, want.Groups, want.Duration = seed, 4, 3, 9*time.Second
		want.Timing = elector.DLedgerTiming()
		want.Timing.Leak = 7
		want.Faults, want.Careless = network, simulation.CarelessOverlap
		want.Leases, want.NoPreVote, want.NoRanks = true, true, false
		assert.Equal(t, want, o)

		o = other.world.options(seed)
		want = o
		want.Timing = elector.DefaultTiming()
		want.Timing.Leak = 5
		want.Leases, want.NoPreVote, want.NoRanks = false, false, true
		assert.Equal(t, want, o)
	}
}

// Candidates trust the clock of the database in one round of --members, and not in the next.
func TestASeedOfLeasesDrawsNothingThatAFlagDecides(t *testing.T) {
	network, err := leases.ParseFaults("network")
	require.NoError(t, err)
	for strict, in := range map[string][]bool{
		"":             {false, false, true, true, false, false, true},
		"--strict=off": make([]bool, 7),
		"--strict":     {true, true, true, true, true, true, true},
	} {
		f := simulating(t, "--world lease --members 3,5 --duration 9s --faults network "+strict)
		for seed, is := range in {
			want := leases.Options{Seed: uint64(seed), Candidates: 3 + seed%2*2, Duration: 9 * time.Second, Faults: network, Strict: is}
			assert.Equal(t, want, f.leaseOptions(uint64(seed)), strict)
		}
	}
}

// The parts of a campaign have different seeds.
func TestAShardHasItsOwnSeeds(t *testing.T) {
	f := simulating(t, "--first 7 --shard 1/2 --shell")
	assert.Equal(t, []uint64{8, 10, 12}, []uint64{f.shellSeed(0), f.shellSeed(1), f.shellSeed(2)})
}

// Parts are added up only if their settings are the same, so settings name every flag that decides what a seed means.
func TestTheSettingsNameAllThatDecidesASeed(t *testing.T) {
	same := map[string]string{}
	for _, line := range []string{
		"", "--members 3", "--members 3,5", "--groups 2", "--groups 2,64", "--duration 2s", "--timing default", "--timing dledger", "--leak 5",
		"--faults network", "--leases", "--leases=off", "--pre-vote", "--pre-vote=off", "--ranks", "--ranks=off", "--careless", "--careless=overlap", "--guided",
		"--world lease", "--world lease --members 3", "--world lease --duration 2s", "--world lease --faults network", "--world lease --strict", "--world lease --strict=off",
		"--shell", "--shell --careless", "--shell --world lease", "--shell --seed 3", "--shell --seed 4",
	} {
		settings := simulating(t, line).settings()
		assert.NotContains(t, same, settings, line)
		same[settings] = line
		if !strings.Contains(line, "--seed ") {
			assert.Equal(t, settings, simulating(t, line+" --seeds 5 --first 9 --shard 0/2").settings(), "these say which seeds, not what they mean")
		}
	}
}

// Nobody knows how many seeds it takes.
func TestACampaignUntilAFailureCoversNoNumberOfSeeds(t *testing.T) {
	p, some := simulating(t, "--until-failure --first 5 --seeds 9").part()
	assert.True(t, some)
	assert.Equal(t, part{First: 5}, p)
}
