// What the report of a campaign says.

package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/leases"
	"github.com/hustings/hustings/simulation/shell"
)

func TestTheTimesWithoutALeaderAreQuantiles(t *testing.T) {
	r := simReport{Events: 900, CPU: 3, Detection: 10, After: map[string]uint64{}}
	for ms := range 100 {
		r.After[strconv.Itoa(ms+1)] = 1
	}
	r.follow()
	assert.InDelta(t, 5, r.P50, 1e-9)
	assert.InDelta(t, 9.9, r.P99, 1e-9)
	assert.InDelta(t, 300, r.PerCPU, 1e-9)
	r.After["1"] = 150
	r.follow()
	assert.InDelta(t, 0.1, r.P50, 1e-9, "one that happened more often counts more")
}

// counted are all of these by name, with a number of their own each.
func counted[K interface {
	comparable
	fmt.Stringer
}](all []K, from uint64) (counts map[K]uint64, named map[string]uint64) {
	counts, named = map[K]uint64{}, map[string]uint64{}
	for i, k := range all {
		counts[k] = from + uint64(i)
		named[k.String()] = from + uint64(i)
	}
	return counts, named
}

// branching is a run that broke an election after it had branched off.
func branching() simulation.Result {
	return simulation.Result{
		Seed: 9, Branches: []simulation.Branch{{At: 3500 * time.Millisecond, Seed: 17}},
		Violation: &invariant.Violation{Invariant: invariant.Converges, What: "nobody leads"},
	}
}

// asScriptsReadIt is a report from its JSON, by the names that scripts use.
func asScriptsReadIt(t *testing.T, r *simReport) (read map[string]any) {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &read))
	return read
}

// hasCounts checks the counts of a report, and takes them out of it.
func hasCounts(t *testing.T, read map[string]any, want map[string]map[string]uint64) {
	t.Helper()
	for name, counts := range want {
		all := map[string]any{}
		for k, n := range counts {
			all[k] = float64(n) // as JSON has it
		}
		assert.Equal(t, all, read[name], name)
		delete(read, name)
	}
}

func TestAReportHasAllItsFields(t *testing.T) {
	s := simulation.NewSummary()
	s.Seeds, s.Events, s.Elections, s.Virtual, s.States, s.Digest = 2, 300, 4, 50, 6, 0xabc
	s.Converged[1500], s.Failing = 8, []simulation.Result{branching()}
	want := map[string]map[string]uint64{"leader_after": {"1500": 8}}
	s.Struck, want["faults"] = counted(simulation.Faults(), 1000)
	s.Checked, want["invariants"] = counted(invariant.All(), 2000)
	s.Met, want["conditions"] = counted(simulation.Conditions(), 3000)
	s.Worlds, want["worlds"] = counted(simulation.Traits(), 4000)
	s.Excused, want["excused"] = counted(invariant.All(), 5000)
	s.Assumed, want["assumptions_broken"] = counted(simulation.Faults(), 6000)
	s.Told, want["assumptions_told"] = counted(simulation.Faults(), 7000)
	f := simulating(t, "--first 7 --members 3")
	read := asScriptsReadIt(t, newSimReport(f, s, 3*time.Second, time.Minute))
	hasCounts(t, read, want)
	assert.Equal(t, map[string]any{
		"settings": "", "covers": nil, "complete": false, // they are known at the end
		"seeds": 2.0, "first_seed": 7.0, "events": 300.0, "virtual_seconds": 50.0, "cpu_seconds": 3.0, "events_per_cpu_second": 100.0, "elections": 4.0,
		"violations": 1.0, "failing_seeds": []any{9.0}, "replay": []any{"hustings replay --seed 9 --members 3 --branch 3.5s:17"},
		"digest": "0000000000000abc", "leader_p50_detections": 1.5, "leader_p99_detections": 1.5, "detection_times": 1000.0, "states": 6.0,
	}, read)
}

func TestAReportOfLeasesHasAllItsFields(t *testing.T) {
	s := leases.NewSummary()
	s.Seeds, s.Events, s.Elections, s.Virtual, s.Digest = 2, 300, 4, 50*time.Second, 0xabc
	s.TakenOver[9*time.Second] = 8
	want := map[string]map[string]uint64{"leader_after": {"9000": 8}, "assumptions_told": {}}
	s.Struck, want["faults"] = counted(leases.Faults(), 1000)
	s.Checked, want["invariants"] = counted(leases.Invariants(), 2000)
	s.Met, want["conditions"] = counted(leases.Conditions(), 3000)
	s.Excused, want["excused"] = counted(leases.Invariants(), 5000)
	s.Assumed, want["assumptions_broken"] = counted(leases.Faults(), 6000)
	read := asScriptsReadIt(t, newLeaseReport(simulating(t, "--world lease --first 7"), s, 3*time.Second, time.Minute))
	hasCounts(t, read, want)
	assert.Equal(t, map[string]any{
		"world": leaseWorld, "settings": "", "covers": nil, "complete": false,
		"seeds": 2.0, "first_seed": 7.0, "events": 300.0, "virtual_seconds": 50.0, "cpu_seconds": 3.0, "events_per_cpu_second": 100.0, "elections": 4.0,
		"violations": 0.0, "failing_seeds": []any{}, "replay": []any{},
		"digest": "0000000000000abc", "leader_p50_detections": 1.5, "leader_p99_detections": 1.5, "detection_times": 6000.0,
	}, read)
}

func TestAReportOfWholeHostsHasAllItsFields(t *testing.T) {
	s := shell.NewSummary()
	s.Seeds, s.Messages, s.Elections, s.Virtual = 2, 300, 4, 50*time.Second
	s.Failing = []*shell.Result{{Seed: 9, Violation: &shell.Violation{Seed: 9}}}
	want := map[string]map[string]uint64{"leader_after": {}, "assumptions_told": {}, "assumptions_broken": {}, "excused": {}}
	s.Struck, want["faults"] = counted(shell.Votes.Faults(), 1000)
	s.Checked, want["invariants"] = counted(shell.Votes.Invariants(), 2000)
	s.Met, want["conditions"] = counted(shell.Votes.Conditions(), 3000)
	f := simulating(t, "--shell --first 7")
	read := asScriptsReadIt(t, newShellReport(f, s, 3*time.Second, time.Minute))
	hasCounts(t, read, want)
	assert.Equal(t, map[string]any{
		"world": shellWorld, "settings": "", "covers": nil, "complete": false,
		"seeds": 2.0, "first_seed": 7.0, "events": 300.0, "virtual_seconds": 50.0, "cpu_seconds": 3.0, "events_per_cpu_second": 100.0, "elections": 4.0,
		"violations": 1.0, "failing_seeds": []any{9.0}, "replay": []any{"hustings sim --shell --careless=off --seed 9"},
		"digest": "0000000000000000", "leader_p50_detections": 0.0, "leader_p99_detections": 0.0, "detection_times": 0.0,
	}, read)
}

// A campaign says nothing about what never happened in it, and must not be taken for one that does.
func TestAReportTellsWhatHappenedAndWhatNeverDid(t *testing.T) {
	s := simulation.NewSummary()
	s.Struck, _ = counted(simulation.Faults(), 1000)
	s.Checked, _ = counted(invariant.All(), 2000)
	s.Met, _ = counted(simulation.Conditions(), 3000)
	s.Assumed[simulation.Wiped], s.Told[simulation.Wiped] = 3, 2
	f := simulating(t, "--faults all,-crash")
	printed := func() string {
		t.Helper()
		var out strings.Builder
		require.NoError(t, newSimReport(f, s, time.Second, time.Second).print(&out))
		return out.String()
	}
	all := printed()
	assert.NotContains(t, all, "note: ")
	assert.Contains(t, all, "wiped: struck in 3 runs, detected and refused in 2\n")
	assert.Regexp(t, `\nfault +struck +invariant +checked +condition +met *\n`, all)
	for fault, n := range s.Struck {
		require.Regexp(t, fmt.Sprintf(`\n%v +%d `, fault, n), all)
	}
	for i, n := range s.Checked {
		require.Regexp(t, fmt.Sprintf(` %v +%d `, i, n), all)
	}
	for c, n := range s.Met {
		require.Regexp(t, fmt.Sprintf(` %v +%d *\n`, c, n), all)
	}

	last := simulation.Conditions()[1]
	delete(s.Struck, simulation.Crash) // nobody has asked for it
	delete(s.Struck, simulation.Loss)
	delete(s.Checked, invariant.Converges)
	delete(s.Met, last)
	var notes []string
	for line := range strings.Lines(printed()) {
		if strings.HasPrefix(line, "note: ") {
			notes = append(notes, line)
		}
	}
	assert.Equal(t, []string{
		fmt.Sprintf("note: the fault %q never struck\n", simulation.Loss),
		fmt.Sprintf("note: the invariant %q was never checked\n", invariant.Converges),
		fmt.Sprintf("note: the condition %q was never met\n", last),
	}, notes)
}

// A run that branched off is another run without its branches.
func TestARunThatBranchedOffIsToldWithItsBranches(t *testing.T) {
	f := simulating(t, "--members 3 --duration 100ms --faults network")
	f.out = t.TempDir()
	cmd := newSim()
	cmd.SetErr(new(page))
	cmd.SetContext(t.Context())
	err := f.tellFailure(cmd, &simulation.Summary{Seeds: 5, Failing: []simulation.Result{branching()}})
	require.ErrorContains(t, err, "1 of 5 runs broke an election; the first one: ")
	assert.ErrorContains(t, err, "see it with: hustings replay --seed 9 --members 3 --duration 100ms --faults=network --branch 3.5s:17\n")
}
