package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// The example of a campaign on Kubernetes runs valid commands, and its pods together play
// all seeds.
func TestTheCampaignExamplePlaysAllSeeds(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/deploy/campaign.yaml")
	require.NoError(t, err)
	var job struct {
		Kind string
		Spec struct {
			Completions uint64
			Template    struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &job))
	require.Equal(t, "Job", job.Kind)
	seen := map[uint64]bool{}
	var seeds uint64
	for i := range job.Spec.Completions {
		f := new(simFlags)
		args := job.Spec.Template.Spec.Containers[0].Args
		require.Equal(t, "sim", args[0])
		for j := range args {
			args[j] = strings.ReplaceAll(args[j], "$(JOB_COMPLETION_INDEX)", string(rune('0'+i)))
		}
		require.NoError(t, f.command().ParseFlags(args[1:]))
		require.NoError(t, f.check())
		require.NoError(t, yaml.Unmarshal(text, &job)) // with the variable again
		seeds = f.seeds
		for k := range min(f.shard.of(f.seeds), 100) {
			assert.False(t, seen[f.shard.seed(k)])
			seen[f.shard.seed(k)] = true
		}
	}
	assert.Len(t, seen, 1000)
	for s := range min(seeds, 1000) {
		assert.True(t, seen[s], s)
	}
}
