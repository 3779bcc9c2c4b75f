package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
)

func TestShellSimulatesWholeHosts(t *testing.T) {
	seeds := fewer("6", "2")
	lines := succeed(t, "sim", "--shell", "--json", "--seeds", seeds, "--first", "3")
	require.Len(t, lines, 1)
	var r simReport
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &r))
	assert.Equal(t, shellWorld, r.World)
	assert.Equal(t, seeds, fmt.Sprint(r.Seeds))
	assert.EqualValues(t, 3, r.FirstSeed)
	assert.True(t, r.Complete)
	assert.Zero(t, r.Violations)
	assert.Positive(t, r.Elections)
	assert.Positive(t, r.Invariants["one leader a term"])
	assert.Equal(t, "--shell --careless=off", r.Settings)
}

func TestShellSimulatesWholeKeepersOfLeases(t *testing.T) {
	lines := succeed(t, "sim", "--shell", "--world", "lease", "--json", "--seeds", "6", "--first", "3")
	var r simReport
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &r))
	assert.Equal(t, shellLeaseWorld, r.World)
	assert.EqualValues(t, 6, r.Seeds)
	assert.Zero(t, r.Violations)
	assert.Positive(t, r.Elections)
	assert.Positive(t, r.Invariants["one lease"])
	assert.NotContains(t, r.Invariants, "promise is kept")
	assert.Equal(t, "--shell --world lease", r.Settings)
	lines = succeed(t, "sim", "--shell", "--world", "lease", "--seed", "3")
	assert.Contains(t, lines[0], "its clock runs at")
	assert.Equal(t, "no invariant was violated", lines[len(lines)-1])
}

func TestPartsOfACampaignOfWholeHostsAddUp(t *testing.T) {
	lines := append(succeed(t, "sim", "--shell", "--json", "--seeds", "3", "--shard", "0/2"), succeed(t, "sim", "--shell", "--json", "--seeds", "3", "--shard", "1/2")...)
	file := filepath.Join(t.TempDir(), "parts")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	assert.Contains(t, succeed(t, "merge", file)[0], "3 seeds from 0")
}

func TestOneSeedOfShellIsPrintedAsItHappens(t *testing.T) {
	lines := succeed(t, "sim", "--shell", "--seed", "7")
	assert.Contains(t, lines[0], "its clock runs at")
	assert.Equal(t, "no invariant was violated", lines[len(lines)-1])
	lines = succeed(t, "sim", "--shell", "--seed", "7", "--json")
	require.Len(t, lines, 1, "scripts read one object")
	assert.True(t, json.Valid([]byte(lines[0])))
}

// Whoever plays a seed again and again wants to see it fail once.
func TestASeedOfShellIsPlayedUntilItFails(t *testing.T) {
	assert.True(t, simulating(t, "--shell --seed 7 --seeds 100").shellCampaign(100).UntilFailure)
	assert.True(t, simulating(t, "--shell --until-failure").shellCampaign(0).UntilFailure)
	assert.False(t, simulating(t, "--shell --seeds 100").shellCampaign(100).UntilFailure)
}

func TestAViolationUnderShellNamesItsSeed(t *testing.T) {
	effort.Alone(t)
	flags := fewer("--until-failure", "--first 10 --seeds 12") // a third of all seeds fail, 10 and 12 nearly always
	_, said := failing(t, append([]string{"sim", "--shell", "--careless"}, strings.Fields(flags)...)...)
	assert.Contains(t, said, "VIOLATION of")
	assert.Contains(t, said, "hustings sim --shell --careless=on --seed ")
}

func TestShellRefusesOtherFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--members", "3"}, {"--faults", "all"}, {"--guided"}, {"--leak", "3"},
	} {
		assert.Contains(t, fail(t, exitUsage, append([]string{"sim", "--shell"}, args...)...), "--shell does not allow "+args[0])
	}
	assert.Contains(t, fail(t, exitUsage, "sim", "--shell", "--world", "lease", "--careless"), "a lease has no engine")
	assert.Contains(t, fail(t, exitUsage, "sim", "--shell", "--world", "shell"), `--world is "shell", want voting or lease`)
	assert.Contains(t, fail(t, exitUsage, "sim", "--seed", "3"), "--seed needs --shell")
	assert.Contains(t, fail(t, exitUsage, "sim", "--shell", "--seed", "3", "--first", "3"), "leave out --first")
	assert.Contains(t, fail(t, exitUsage, "sim", "--shell", "--careless=overlap"), `--careless is "overlap"`)
}
