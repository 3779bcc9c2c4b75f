package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/explore"
)

func simulated(t *testing.T, args ...string) simReport {
	t.Helper()
	var r simReport
	lines := succeed(t, append([]string{"sim", "--json", "--duration", "5s"}, args...)...)
	require.Len(t, lines, 1)
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &r))
	return r
}

func TestTheSameSeedsHaveTheSameDigest(t *testing.T) {
	effort.Alone(t)
	seeds := fewer("40", "8")
	r := simulated(t, "--seeds", seeds, "--first", "100")
	assert.Equal(t, seeds, fmt.Sprint(r.Seeds))
	assert.EqualValues(t, 100, r.FirstSeed)
	assert.Zero(t, r.Violations)
	assert.Positive(t, r.Events)
	assert.Equal(t, r.Digest, simulated(t, "--seeds", seeds, "--first", "100").Digest)
	assert.NotEqual(t, r.Digest, simulated(t, "--seeds", seeds, "--first", "200").Digest)
}

// Readers and scripts look for the parts of a report where they were last time.
func TestTheReportHasItsPartsInOrder(t *testing.T) {
	report := strings.Join(succeed(t, "sim", "--seeds", "2", "--duration", "1s"), "\n")
	parts := []string{"2 seeds from 0", " events, ", "a healed majority had a leader after ", "fault ", "worlds with ", "note: the fault ", "note: the invariant ", "note: the condition ", "digest ", "no invariant was violated"}
	at := make([]int, len(parts))
	for i, part := range parts {
		at[i] = strings.Index(report, part)
		assert.GreaterOrEqual(t, at[i], 0, part)
	}
	assert.IsIncreasing(t, at)
}

// A seed that is played alone, by the command line that a failure prints, is the same world
// as in a campaign.
func TestAReplayedSeedIsTheSameWorld(t *testing.T) {
	for _, flags := range []string{
		"", "--members 3,5,7 --duration 1s --timing default --faults network,-loss", "--leases=off --pre-vote=off --ranks=on --leak 7 --careless=overlap",
		"--groups 1,4,64",
	} {
		f := new(simFlags)
		require.NoError(t, f.command().ParseFlags(strings.Fields(flags)))
		require.NoError(t, f.check())
		for seed := range uint64(12) {
			among := f.world.options(seed)
			among.Branches = []simulation.Branch{{At: 1e8, Seed: seed}}
			words := strings.Fields(f.world.replay(&among))
			require.Equal(t, []string{"hustings", "replay"}, words[:2])
			again := new(replayFlags)
			require.NoError(t, again.command().ParseFlags(words[2:]))
			require.NoError(t, again.world.check())
			assert.Equal(t, among, again.options())
		}
	}
}

func TestSimAlsoPlaysElectionsByALease(t *testing.T) {
	r := simulated(t, "--world", "lease", "--seeds", "40", "--members", "2,5")
	assert.Equal(t, leaseWorld, r.World)
	assert.EqualValues(t, 40, r.Seeds)
	assert.Zero(t, r.Violations)
	assert.Positive(t, r.Faults["slow-commit"])
	assert.Equal(t, r.Digest, simulated(t, "--world", "lease", "--seeds", "40", "--members", "2,5").Digest)
	lines := succeed(t, "sim", "--world", "lease", "--seeds", "10", "--strict", "--faults", "all,clock-beyond")
	assert.Contains(t, lines[2], "a silent leader was replaced after")
}

// With leases, too, a seed alone is the same world as in a campaign.
func TestAReplayedSeedOfLeasesIsTheSameWorld(t *testing.T) {
	f := simFlags{world: worldFlags{kind: leaseWorld, members: []int{3, 5}, duration: 1e9, timing: mixed, careless: "off", strict: "mixed", faults: "network,-late"}}
	require.NoError(t, f.check())
	for seed := range uint64(12) {
		among := f.leaseOptions(seed)
		words := strings.Fields(replayLease(&among))
		again := new(replayFlags)
		require.NoError(t, again.command().ParseFlags(words[2:]))
		require.NoError(t, again.world.check())
		o := again.world.leaseOptions()
		o.Seed, o.Candidates = again.seed, turn(again.world.members, again.seed)
		assert.Equal(t, among, o)
	}
	lines := succeed(t, "replay", "--world", "lease", "--seed", "5", "--duration", "10s", "--text")
	assert.Contains(t, strings.Join(lines, "\n"), "n2#1 starts")
	assert.Contains(t, lines[len(lines)-1], "no invariant was violated")
}

func TestFlagsThatLeasesDoNotHaveAreNamed(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "sim", "--world", "flat"), `--world is "flat"`)
	assert.Contains(t, fail(t, exitUsage, "sim", "--world", "lease", "--strict=some"), `--strict is "some"`)
	assert.Contains(t, fail(t, exitUsage, "sim", "--world", "lease", "--guided"), "--guided needs --world voting")
	assert.Contains(t, fail(t, exitUsage, "sim", "--world", "lease", "--careless"), "--careless needs --world voting")
	assert.Contains(t, fail(t, exitUsage, "sim", "--world", "lease", "--groups", "2"), `--groups is [2], which needs --world voting`)
	assert.Contains(t, fail(t, exitUsage, "sim", "--world", "lease", "--timing", "dledger"), `--timing is "dledger"`)
	assert.Contains(t, fail(t, exitUsage, "replay", "--world", "lease", "--seed", "1", "--html", "x"), "--html, --group and --branch")
	assert.Contains(t, fail(t, exitUsage, "replay", "--world", "lease", "x"), "no scenarios")
	votes, leases := filepath.Join(t.TempDir(), "votes"), filepath.Join(t.TempDir(), "leases")
	for file, world := range map[string]string{votes: "voting", leases: "lease"} {
		out := succeed(t, "sim", "--json", "--seeds", "2", "--duration", "5s", "--world", world)
		require.NoError(t, os.WriteFile(file, []byte(out[0]), 0o600))
	}
	assert.Contains(t, fail(t, exitFailed, "merge", votes, leases), "these are two campaigns")
}

// Otherwise a guided campaign would be one of fresh seeds that takes longer.
func TestOnlyAGuidedCampaignCountsStates(t *testing.T) {
	assert.Positive(t, simulated(t, "--seeds", "3", "--guided").States)
	assert.Zero(t, simulated(t, "--seeds", "3").States)
}

func TestASimulationPrintsATableForPeople(t *testing.T) {
	lines := succeed(t, "sim", "--seeds", "10", "--duration", "5s", "--timing", "dledger")
	assert.Contains(t, lines[0], "10 seeds from 0")
	assert.Equal(t, "no invariant was violated", lines[len(lines)-1])
}

func TestTheVerdictIsTheLastLine(t *testing.T) {
	for says, r := range map[string]*simReport{
		"no invariant was violated":         {Complete: true},
		"2 of 9 runs violated an invariant": {Complete: true, Seeds: 9, Violations: 2, what: make([]string, 2*mostTold)},
		"NOT complete: interrupted after 3 of 9 seeds; no invariant was violated so far":    {Seeds: 3, Stopped: "interrupted after 3 of 9 seeds"},
		"NOT complete: interrupted after 3 seeds; 1 of 3 runs violated an invariant so far": {Seeds: 3, Violations: 1, Stopped: "interrupted after 3 seeds"},
	} {
		var out strings.Builder
		require.NoError(t, r.print(&out))
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		assert.Equal(t, says, lines[len(lines)-1])
	}
}

// An interrupted campaign is complete only if it had already played all its seeds.
func TestAnInterruptedCampaignIsIncompleteUnlessAllSeedsWerePlayed(t *testing.T) {
	for name, c := range map[string]struct {
		f           simFlags
		r           simReport
		interrupted bool
		stopped     string // empty: it is complete
	}{
		"all seeds":                    {f: simFlags{seeds: 9}, r: simReport{Seeds: 9}},
		"all seeds, then interrupted":  {f: simFlags{seeds: 9}, r: simReport{Seeds: 9}, interrupted: true},
		"some seeds":                   {f: simFlags{seeds: 9}, r: simReport{Seeds: 3}, interrupted: true, stopped: "interrupted after 3 of 9 seeds"},
		"some of a shard":              {f: simFlags{seeds: 9, shard: shardFlag{1, 2}}, r: simReport{Seeds: 3}, interrupted: true, stopped: "shard 1/2 was interrupted after 3 of 4 seeds"},
		"all of a shard":               {f: simFlags{seeds: 9, shard: shardFlag{1, 2}}, r: simReport{Seeds: 4}, interrupted: true},
		"a shard of none":              {f: simFlags{seeds: 1, shard: shardFlag{1, 2}}, interrupted: true},
		"until a failure, found":       {f: simFlags{untilFailure: true}, r: simReport{Seeds: 9, Violations: 1}, interrupted: true},
		"until a failure, never found": {f: simFlags{untilFailure: true}, r: simReport{Seeds: 9}, interrupted: true, stopped: "interrupted after 9 seeds"},
	} {
		c.r.ended(&c.f, c.interrupted)
		assert.Equal(t, c.stopped, c.r.Stopped, name)
		assert.Equal(t, c.stopped == "", c.r.Complete, name)
	}
}

func TestAWrongSimulationIsNamed(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "sim", "--timing", "fast"), `--timing is "fast"`)
	assert.Contains(t, fail(t, exitUsage, "sim", "--leak", "few"), `--leak is "few", want a number or mixed`)
	assert.Contains(t, fail(t, exitUsage, "sim", "--leak", "1"), "--leak: elector: Timing.Leak is 1, must be 2 to 100")
	assert.Contains(t, fail(t, exitUsage, "sim", "--leases=some"), `--leases is "some"`)
	assert.Contains(t, fail(t, exitFailed, "sim", "--members", "99", "--seeds", "1"), "Members is 99")
	assert.Contains(t, fail(t, exitUsage, "sim", "--members", "3,0", "--seeds", "1"), "--members is [3 0], want 1 or more")
	assert.Contains(t, fail(t, exitUsage, "sim", "--careless=yes", "--seeds", "1"), `--careless is "yes", want on, overlap or off`)
	assert.Contains(t, fail(t, exitUsage, "sim", "--groups", "0"), "--groups is [0], want 1 or more")
	assert.Contains(t, fail(t, exitFailed, "sim", "--groups", "65", "--seeds", "1"), "Groups is 65")
}

// failing runs a command that prints something and fails.
func failing(t *testing.T, args ...string) (said, wrong string) {
	t.Helper()
	code, said, wrong := run(args...)
	require.Equal(t, exitFailed, code, wrong)
	return said, wrong
}

// A violation by a careless engine is shrunk and written to files that replay it.
func TestAViolationIsWrittenDown(t *testing.T) {
	effort.Alone(t)
	folder := t.TempDir()
	found, said := failing(t, "sim", "--json", "--careless", "--until-failure", "--first", fewer("200", "247"), "--members", "3", "--duration", "20s", "--out", folder)
	assert.Regexp(t, "(committed entries stay|leader has what is committed) violated", said)
	assert.Contains(t, said, "hustings replay --seed")
	scenarios, err := filepath.Glob(filepath.Join(folder, "violation-*", "scenario.txt"))
	require.NoError(t, err)
	require.Len(t, scenarios, 1)
	dir := filepath.Dir(scenarios[0])
	assert.NotEmpty(t, textOf(t, filepath.Join(dir, "trace.txt")))
	assert.Contains(t, textOf(t, filepath.Join(dir, "picture.html")), "</html>")
	assert.Less(t, strings.Count(textOf(t, scenarios[0]), "\n"), 40, "it is shrunk")
	aViolationFails(t, found)

	page := filepath.Join(folder, "again.html")
	lines := succeed(t, "replay", scenarios[0], "--text", "--html", page)
	assert.Regexp(t, "as expected: (committed entries stay|leader has what is committed) violated", lines[len(lines)-1])
	assert.Contains(t, textOf(t, page), "</html>")
}

// textOf reads a file.
func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// aViolationFails checks that a replay of the first run that a report names fails, and so do merged reports of it.
func aViolationFails(t *testing.T, report string) {
	t.Helper()
	var r simReport
	require.NoError(t, json.Unmarshal([]byte(report), &r))
	require.NotEmpty(t, r.Failing)
	_, said := failing(t, strings.Fields(r.Replay[0])[1:]...)
	assert.Regexp(t, "(committed entries stay|leader has what is committed) violated", said)

	file := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(file, []byte(report), 0o600))
	_, said = failing(t, "merge", file)
	assert.Contains(t, said, "runs broke an election; see the first one with: "+r.Replay[0])
}

// The merged shards of a campaign have the same report as the whole campaign.
func TestShardsAddUp(t *testing.T) {
	effort.Alone(t)
	folder, seeds := t.TempDir(), fewer("50", "8")
	var files []string
	for _, shard := range []string{"0/3", "1/3", "2/3"} {
		out := succeed(t, "sim", "--json", "--seeds", seeds, "--first", "7", "--duration", "5s", "--shard", shard)
		files = append(files, filepath.Join(folder, strings.ReplaceAll(shard, "/", "of")))
		require.NoError(t, os.WriteFile(files[len(files)-1], []byte(out[0]+"\n"), 0o600))
	}
	var parts simReport
	require.NoError(t, json.Unmarshal([]byte(succeed(t, append([]string{"merge", "--json"}, files...)...)[0]), &parts))
	whole := simulated(t, "--seeds", seeds, "--first", "7")
	assert.NotZero(t, parts.CPU)
	parts.CPU, parts.PerCPU, whole.CPU, whole.PerCPU = 0, 0, 0, 0
	assert.InDelta(t, whole.Virtual, parts.Virtual, 1e-6)
	parts.Virtual = whole.Virtual
	assert.Equal(t, whole, parts)
	assert.Contains(t, succeed(t, append([]string{"merge"}, files...)...)[0], seeds+" seeds from 7")
}

// So have those of leases. If each part played the first seeds, their digests would add up to another one.
func TestShardsOfLeasesAddUp(t *testing.T) {
	parts := reported(t, "parts", "--world lease --seeds 6 --first 7 --shard 0/2", "--world lease --seeds 6 --first 7 --shard 1/2")
	var r simReport
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "merge", "--json", parts)[0]), &r))
	assert.Equal(t, simulated(t, "--duration", "1s", "--world", "lease", "--seeds", "6", "--first", "7").Digest, r.Digest)
}

// reported writes the reports of some simulations to a file, one a line.
func reported(t *testing.T, name string, campaigns ...string) (file string) {
	t.Helper()
	var lines []string
	for _, flags := range campaigns {
		lines = append(lines, succeed(t, append([]string{"sim", "--json", "--duration", "1s"}, strings.Fields(flags)...)...)...)
	}
	file = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	return file
}

// Seeds that would be counted twice, or are missing, are refused, whether they are in one
// file or in several.
func TestOverlappingAndMissingPartsAreRefused(t *testing.T) {
	a, b := reported(t, "a", "--seeds 6 --shard 0/3"), reported(t, "b", "--seeds 6 --shard 1/3")
	rest := reported(t, "rest", "--seeds 6 --shard 1/3", "--seeds 6 --shard 2/3")
	assert.Contains(t, fail(t, exitFailed, "merge", a, rest, b), "b: object 1: it covers shard 1/3 of the seeds 0 to 5, and "+rest+" covers shard 1/3 of the seeds 0 to 5: no seed may count twice")
	assert.Contains(t, fail(t, exitFailed, "merge", b), "only 1 of 3 shards are there; missing: 0/3, 2/3")
	assert.Contains(t, fail(t, exitFailed, "merge", a, a), "no seed may count twice")
	whole := reported(t, "whole", "--seeds 6")
	assert.Contains(t, fail(t, exitFailed, "merge", whole, a), "no seed may count twice")
	assert.Contains(t, fail(t, exitFailed, "merge", a, reported(t, "half", "--seeds 6 --shard 1/2")), "no seed may count twice", "divided in another way")
	assert.Contains(t, fail(t, exitFailed, "merge", whole, reported(t, "more", "--seeds 5 --first 5")), "it covers the seeds 5 to 9, and "+whole+" covers the seeds 0 to 5")
	lines := succeed(t, "merge", a, rest)
	assert.Contains(t, lines[0], "6 seeds from 0")
	assert.Equal(t, "no invariant was violated", lines[len(lines)-1])
	assert.Contains(t, succeed(t, "merge", reported(t, "next", "--seeds 4 --first 6"), rest, a)[0], "10 seeds from 0")
}

// A merged report can be merged again, because it still says which seeds it covers.
func TestMergedPartsCanBeMergedAgain(t *testing.T) {
	shards := reported(t, "shards", "--seeds 6 --shard 0/2", "--seeds 6 --shard 1/2")
	once := filepath.Join(t.TempDir(), "once")
	require.NoError(t, os.WriteFile(once, []byte(succeed(t, "merge", "--json", shards)[0]), 0o600))
	assert.Contains(t, fail(t, exitFailed, "merge", once, shards), "no seed may count twice")
	assert.Contains(t, succeed(t, "merge", once, reported(t, "next", "--seeds 4 --first 6"))[0], "10 seeds from 0")
}

// Reports belong to one campaign only if the flags that decide what a seed means are the same.
func TestPartsOfTwoCampaignsAreRefused(t *testing.T) {
	a := reported(t, "a", "--seeds 6 --shard 0/2")
	for _, other := range []string{"--members 3", "--duration 2s", "--timing dledger", "--faults network", "--leases", "--careless", "--leak 5", "--guided", "--world lease"} {
		b := reported(t, "b", "--seeds 6 --shard 1/2 "+other)
		assert.Contains(t, fail(t, exitFailed, "merge", a, b), "these are two campaigns: ", other)
	}
}

// A part that was interrupted makes the whole of it incomplete.
func TestAnInterruptedPartMakesTheWholeIncomplete(t *testing.T) {
	a, b := reported(t, "a", "--seeds 6 --shard 0/2"), reported(t, "b", "--seeds 6 --shard 1/2")
	text, err := os.ReadFile(b)
	require.NoError(t, err)
	cut := strings.Replace(string(text), `"complete":true`, `"complete":false,"stopped":"shard 1/2 was interrupted after 2 of 3 seeds"`, 1)
	require.NotEqual(t, string(text), cut)
	require.NoError(t, os.WriteFile(b, []byte(cut), 0o600))
	code, said, wrong := run("merge", a, b)
	assert.Equal(t, exitUnfinished, code)
	assert.Contains(t, said, "NOT complete: "+b+": shard 1/2 was interrupted after 2 of 3 seeds; no invariant was violated so far\n")
	assert.Contains(t, wrong, "not complete: "+b)
}

func TestWrongPartsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "part.json")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	assert.Contains(t, fail(t, exitFailed, "merge", file), `part.json: object 1: digest is ""`)
	require.NoError(t, os.WriteFile(file, []byte(`{"digest": "1", "seeds": 3}`), 0o600))
	assert.Contains(t, fail(t, exitFailed, "merge", file), "covers is empty")
	require.NoError(t, os.WriteFile(file, []byte(`{"digest": "1", "violations": 3}`), 0o600))
	assert.Contains(t, fail(t, exitFailed, "merge", file), "violations is 3, with 0 failing_seeds")
	require.NoError(t, os.WriteFile(file, []byte(`{"digest": "1", "covers": [{"shard": "2/2"}]}`), 0o600))
	assert.Contains(t, fail(t, exitFailed, "merge", file), "want i/n")
	require.NoError(t, os.WriteFile(file, []byte(`{"digest": "1", "covers": [{"shard": "0/1000000000000"}]}`), 0o600))
	assert.Contains(t, fail(t, exitFailed, "merge", file), "10/1000000000000, and more")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Contains(t, fail(t, exitFailed, "merge", file), "part.json: object 1: EOF", "the log of a part that was lost")
	require.NoError(t, os.WriteFile(file, []byte("seeds"), 0o600))
	assert.Contains(t, fail(t, exitFailed, "merge", file), "part.json: object 1: ")
	assert.Contains(t, fail(t, exitUsage, "sim", "--shard", "3/3"), "want i/n")
	assert.Contains(t, fail(t, exitUsage, "sim", "--faults", "weather"), `no fault is called "weather"`)
}

func TestAReplayComparesTheRunWithItsScenario(t *testing.T) {
	story := filepath.Join(t.TempDir(), "story.txt")
	require.NoError(t, os.WriteFile(story, []byte("members 3\nduration 2s\nexpect leader n1 at 1s\n"), 0o600))
	out, said := failing(t, "replay", story)
	assert.Contains(t, out, "expected: leader n1 at 1s; found: n0 follower in term 1")
	assert.Contains(t, said, "the run did not go as the scenario expects")
	require.NoError(t, os.WriteFile(story, []byte("members 3\nat noon crash n1\n"), 0o600))
	assert.Contains(t, fail(t, exitFailed, "replay", story), `story.txt: line 2: "at noon crash n1"`)
	assert.Contains(t, fail(t, exitUsage, "replay"), "want either the file of a scenario or --seed")
	lines := succeed(t, "replay", "--seed", "5", "--duration", "1s", "--text")
	assert.Contains(t, lines[len(lines)-1], "no invariant was violated")
	assert.Contains(t, lines[0], "starts")
}

// One of several groups is shown, and every line names it.
func TestAReplayShowsOneOfSeveralGroups(t *testing.T) {
	story := filepath.Join(t.TempDir(), "story.txt")
	require.NoError(t, os.WriteFile(story, []byte("groups 3\nduration 2s\nat 1s resign n0 g1\nexpect g1 order n0 done at 2s\n"), 0o600))
	for group, resigns := range map[string]bool{"0": false, "1": true, "2": false} {
		said := strings.Join(succeed(t, "replay", story, "--text", "--group", group), "\n")
		assert.Contains(t, said, "n2 g"+group+"  starts")
		assert.Equal(t, resigns, strings.Contains(said, "resign n0 g1"), said)
	}
	_, wrong := failing(t, "replay", story, "--group", "3")
	assert.Contains(t, wrong, "there is no g3")
	assert.Contains(t, fail(t, exitUsage, "replay", "--world", "lease", "--seed", "1", "--group", "0"), "--group")
}

// The README's example plays 500 worlds unless it is told otherwise, and in some of them an entry is lost.
func TestCarelessEnginesAreShownByAFewWorlds(t *testing.T) {
	effort.Alone(t)
	said, why := failing(t, "sim", "--careless", "--duration", "1s", "--json", "--out", t.TempDir(), "--shard", "43/500")
	assert.Contains(t, said, `"seeds":1,`)
	assert.Contains(t, why, "committed entries stay violated")
	lines := succeed(t, "sim", "--careless", "--seeds", "450", "--duration", "1s", "--json", "--shard", "0/450")
	assert.Contains(t, lines[0], `"seeds":1,`, "a default does not override the flag")
}

// Each line that is read shows the next one. What is left is not shown when the input ends.
func TestAReplayIsSteppedThrough(t *testing.T) {
	stepped := func(typed string, args ...string) []string {
		t.Helper()
		cmd := newReplay()
		var out strings.Builder
		cmd.SetIn(strings.NewReader(typed))
		cmd.SetOut(&out)
		cmd.SetArgs(append(args, "--step"))
		require.NoError(t, cmd.Execute())
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	for _, run := range [][]string{{"--seed", "5", "--duration", "1s"}, {"--seed", "5", "--duration", "60s", "--world", "lease"}} {
		all := stepped(strings.Repeat("\n", 100_000), run...)
		lines := stepped("\n\n", run...)
		require.Greater(t, len(all), 5)
		assert.Equal(t, all[:3], lines[:3])
		assert.Equal(t, all[len(all)-2:], lines[3:], "the verdict")
		seen := succeed(t, append([]string{"replay", "--text"}, run...)...)
		assert.Subset(t, all, seen, "the text leaves out what changed nothing")
	}
}

func TestAFileWithoutAScenarioIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty.txt")
	require.NoError(t, os.WriteFile(file, []byte("\n# nothing\n"), 0o600))
	assert.Contains(t, fail(t, exitFailed, "replay", file), "empty.txt: it holds no scenario")
	require.NoError(t, os.WriteFile(file, []byte("# a script\n"+explore.ScriptHead+"\nmembers 3\n"), 0o600))
	assert.Contains(t, fail(t, exitFailed, "replay", file, "--group", "0"), "--group needs a simulated run")
}

// Only a scenario that shows its violation at every run is written down as one.
func TestAScenarioWithoutAViolationIsNotConfirmed(t *testing.T) {
	require.ErrorContains(t, confirm("members 3\nduration 1s\n"), "it does not show the same violation every time")
	require.ErrorContains(t, confirm("members many\n"), "line 1")
}

func TestThePartsOfAReportSayWhatIsMissing(t *testing.T) {
	total := simReport{Stopped: "one: interrupted"}
	file := filepath.Join(t.TempDir(), "b.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"digest":"1","stopped":"interrupted after 3 seeds","covers":[{"first":5,"seeds":3}]}`), 0o600))
	require.NoError(t, mergeFile(&total, file))
	assert.Equal(t, "one: interrupted; "+file+": interrupted after 3 seeds", total.Stopped)
	assert.Equal(t, uint64(7), (&part{First: 5, Seeds: 3}).last())
	assert.Equal(t, uint64(math.MaxUint64), (&part{First: 5}).last(), "it never ends")
	assert.Equal(t, uint64(math.MaxUint64), (&part{First: math.MaxUint64, Seeds: 1}).last())
	assert.Equal(t, uint64(math.MaxUint64), (&part{First: math.MaxUint64 - 1, Seeds: 3}).last(), "there are not so many")
}
