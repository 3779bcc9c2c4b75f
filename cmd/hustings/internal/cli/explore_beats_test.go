package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExploreBeatsSaysThatItIsComplete(t *testing.T) {
	lines := succeed(t, "explore", "beats", "--moments", "2")
	assert.Contains(t, lines[len(lines)-1], "complete: ")
	assert.NotContains(t, lines[len(lines)-1], "NOT")
	code, said, wrong := run("explore", "beats", "--max-states", "100")
	assert.Equal(t, exitUnfinished, code)
	assert.Contains(t, said, "NOT complete: it has reached the limit of states")
	assert.Equal(t, "hustings: not complete: it has reached the limit of states\n", wrong)
}

func TestExploreBeatsPrintsOneJSONObject(t *testing.T) {
	lines := succeed(t, "explore", "beats", "--moments", "1", "--ends", "1", "--json")
	require.Len(t, lines, 1)
	var report map[string]any // not exploreReport, to check the names that scripts use
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &report))
	assert.Equal(t, true, report["complete"])
	bounds, is := report["bounds"].(map[string]any)
	require.True(t, is)
	assert.EqualValues(t, 1, bounds["ends"])
}

// Whoever reads a report later sees what was explored.
func TestAReportOfBeatsNamesTheBoundsOfItsSearch(t *testing.T) {
	names := []string{
		"members", "groups", "terms", "moments", "calm", "ends", "inabilities", "waits", "slow-disks", "changes", "leavings", "leader-restarts", "follower-restarts",
	}
	want, given := map[string]any{}, []string(nil)
	for i, name := range names {
		given = append(given, fmt.Sprintf("--%s=%d", name, i+1))
		want[strings.ReplaceAll(name, "-", "_")] = i + 1
	}
	f := new(beatsFlags)
	require.NoError(t, f.command().ParseFlags(given))
	assert.Equal(t, want, f.bounds())
}

func TestWrongBoundsOfBeatsAreNamed(t *testing.T) {
	assert.Contains(t, fail(t, exitUsage, "explore", "beats", "--members", "4"), "Members is 4")
}
