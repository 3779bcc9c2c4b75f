package leases_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation/leases"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// campaign plays seeds of 2 to 5 candidates, every other one in strict mode.
func campaign(t *testing.T, seeds uint64, faults string) *leases.Summary {
	t.Helper()
	if !effort.Whole() {
		seeds = min(seeds, 100)
	}
	set, err := leases.ParseFaults(faults)
	require.NoError(t, err)
	c := leases.Campaign{Count: seeds, Options: func(seed uint64) leases.Options {
		return leases.Options{Seed: seed, Candidates: 2 + int(seed/2%4), Strict: seed%2 == 1, Faults: set}
	}}
	total, err := c.Run(t.Context())
	require.NoError(t, err)
	for _, r := range total.Failing {
		assert.NoError(t, r.Violation, "seed %d", r.Seed)
	}
	return total
}

// A fault that never strikes, an invariant that is never looked at and a condition that
// never comes about show nothing.
func TestNothingBreaksALeaseAndEverythingStrikes(t *testing.T) {
	effort.Alone(t)
	total := campaign(t, 3000, "all")
	if !effort.Whole() {
		return // what is rare does not come about
	}
	for _, f := range leases.Faults() {
		if f.Class() != leases.AssumptionFaults {
			assert.Positive(t, total.Struck[f], "%v never struck", f)
		}
	}
	for _, i := range leases.Invariants() {
		assert.Positive(t, total.Checked[i], "%v was never checked", i)
	}
	for _, c := range leases.Conditions() {
		assert.Positive(t, total.Met[c], "%v never came about", c)
	}
	assert.Empty(t, total.Excused)
	t.Logf("%d events, %d elections, %v; %v", total.Events, total.Elections, total.Virtual, total.Met)
}

// What package lease assumes it needs: without it two candidates have a valid lease at
// one moment.
func TestBrokenAssumptionsBreakLeases(t *testing.T) {
	effort.Alone(t)
	for _, f := range []leases.Fault{leases.ClockBeyond, leases.StepsUnwatched, leases.Suspend, leases.EarlyLook} {
		t.Run(f.String(), func(t *testing.T) {
			total := campaign(t, 1000, "all,"+f.String())
			assert.Positive(t, total.Assumed[f])
			if effort.Whole() {
				assert.Positive(t, total.Excused[leases.OneLease])
			}
			t.Logf("struck in %d runs; broken: %v", total.Assumed[f], total.Excused)
		})
	}
}

// However early it is that faults strike no more.
func TestShortRunsAreHealed(t *testing.T) {
	effort.Alone(t)
	c := leases.Campaign{Count: 300, Options: func(seed uint64) leases.Options {
		return leases.Options{Seed: seed, Candidates: 2 + int(seed%8), Strict: seed%3 == 0, Duration: time.Duration(1+seed%5) * 2 * time.Second}
	}}
	total, err := c.Run(t.Context())
	require.NoError(t, err)
	assert.Empty(t, total.Failing)
}

// A world without faults elects once, and once more when the leader has fallen silent; and
// once between if the leader's resignation is heard of.
func TestNothingGoesWrongWhereNothingStrikes(t *testing.T) {
	c := leases.Campaign{Count: 100, Options: func(seed uint64) leases.Options {
		return leases.Options{Seed: seed, Candidates: 2 + int(seed/2%4), Leases: 1, Strict: seed%2 == 1, Faults: leases.NoFaults}
	}}
	total, err := c.Run(t.Context())
	require.NoError(t, err)
	require.Empty(t, total.Failing)
	assert.GreaterOrEqual(t, total.Elections, 2*total.Seeds)
	assert.LessOrEqual(t, total.Elections, 3*total.Seeds)
	for took, n := range total.TakenOver {
		assert.Greater(t, took, 3*time.Second, "%d times", n)
		assert.Less(t, took, 8500*time.Millisecond, "%d times", n)
	}
}

func TestTheSameSeedIsTheSameRun(t *testing.T) {
	digests := map[uint64]bool{}
	for seed := range uint64(50) {
		o := leases.Options{Seed: seed, Strict: seed%2 == 0}
		once, err := leases.Run(o)
		require.NoError(t, err)
		lines := 0
		o.Tell = func(string) { lines++ }
		again, err := leases.Run(o)
		require.NoError(t, err)
		assert.Equal(t, once, again)
		assert.Positive(t, lines)
		digests[once.Digest] = true
	}
	assert.Len(t, digests, 50)
}

func TestACampaignIsTheSameOnOneCore(t *testing.T) {
	options := func(i uint64) leases.Options { return leases.Options{Seed: i, Duration: 10 * time.Second} }
	var all [2]*leases.Summary
	for i := range all {
		told := uint64(0)
		c := leases.Campaign{Count: 100, Options: options, Workers: i, Progress: func(s *leases.Summary) { told = s.Seeds }}
		total, err := c.Run(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 100, told)
		all[i] = total
	}
	assert.Equal(t, all[0], all[1])
}

func TestWrongOptionsAreNamed(t *testing.T) {
	_, err := leases.Run(leases.Options{Candidates: 1, Duration: -1, Faults: 1 << 50})
	require.ErrorContains(t, err, "Candidates is 1")
	require.ErrorContains(t, err, "Duration is -1ns")
	require.ErrorContains(t, err, "Faults has bits")
	_, err = leases.ParseFaults("weather")
	assert.ErrorContains(t, err, `no fault is called "weather"`)
}

func TestFaultsAreRead(t *testing.T) {
	for list, want := range map[string]string{"all": "network,database,process,clock,operator", "crash,network,-late": "crash", "-clock": "network,database,process,operator", "none": "none"} {
		set, err := leases.ParseFaults(list)
		require.NoError(t, err)
		again, err := leases.ParseFaults(set.String())
		require.NoError(t, err)
		assert.Equal(t, set, again)
		if list != "crash,network,-late" {
			assert.Equal(t, want, set.String())
		} else {
			assert.False(t, set.Has(leases.Late))
			assert.True(t, set.Has(leases.Twice) && set.Has(leases.Crash))
		}
	}
}
