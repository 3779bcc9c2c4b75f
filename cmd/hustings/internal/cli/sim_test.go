package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func simulated(t *testing.T, args ...string) simReport {
	t.Helper()
	var r simReport
	lines := succeed(t, append([]string{"sim", "--json", "--duration", "5s"}, args...)...)
	require.Len(t, lines, 1)
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &r))
	return r
}

func TestSimulating(t *testing.T) {
	r := simulated(t, "--seeds", "40", "--first", "100")
	assert.EqualValues(t, 40, r.Seeds)
	assert.EqualValues(t, 100, r.FirstSeed)
	assert.Zero(t, r.Violations)
	assert.Positive(t, r.Events)
	assert.Equal(t, r.Digest, simulated(t, "--seeds", "40", "--first", "100").Digest)
	assert.NotEqual(t, r.Digest, simulated(t, "--seeds", "40", "--first", "200").Digest)
}

// A seed that is played alone, by the command line that a failure tells, is the same
// world as among others.
func TestASeedIsSeenAgain(t *testing.T) {
	f := simFlags{members: []int{3, 5, 7}, duration: 1e9, timing: "default", leases: "mixed"}
	for seed := range uint64(12) {
		among, alone := f.options(seed), simFlags{timing: "default"}
		cmd := alone.command()
		words := strings.Fields(f.again(seed))
		require.Equal(t, []string{"hustings", "sim"}, words[:2])
		require.NoError(t, cmd.ParseFlags(words[2:]))
		assert.Equal(t, seed, alone.first)
		assert.Equal(t, among, alone.options(seed))
	}
}

func TestSimulationsForHumanReaders(t *testing.T) {
	lines := succeed(t, "sim", "--seeds", "10", "--duration", "5s", "--timing", "dledger")
	assert.Contains(t, lines[0], "10 seeds from 0")
	assert.Contains(t, lines[0], "0 violations")
}

func TestAWrongSimulationIsNamed(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "sim", "--timing", "fast"), `--timing is "fast"`)
	assert.Contains(t, fail(t, exitUsage, "sim", "--leases=some"), `--leases is "some"`)
	assert.Contains(t, fail(t, exitFailed, "sim", "--members", "99", "--seeds", "1"), "Members is 99")
}
