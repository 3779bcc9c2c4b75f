package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/stress"
)

func TestStressPrintsForPeopleAndForScripts(t *testing.T) {
	t.Parallel()
	few := []string{"stress", "--groups", "20", "--for", "50ms", "--heartbeat", "30ms", "--leak", "7"}
	lines := succeed(t, few...)
	assert.Contains(t, lines[0], "20 groups on 3 nodes")
	assert.Contains(t, lines[1], "A heartbeat is 30ms. T is 210ms")
	lines = succeed(t, append(few, "--json", "--kill=false", "--nodes", "2", "--node-beats=false")...)
	require.Len(t, lines, 1)
	var r stress.Report
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &r))
	assert.True(t, r.Complete)
	assert.Equal(t, 2, r.Nodes)
	assert.Nil(t, r.Death)
	assert.False(t, r.NodeBeats)
}

func TestStressNamesTheFlagThatIsWrong(t *testing.T) {
	for flag, value := range map[string]string{"--groups": "0", "--nodes": "2", "--for": "-1s", "--heartbeat": "0s"} {
		assert.Contains(t, fail(t, exitUsage, "stress", flag, value), flag+" ")
	}
}
