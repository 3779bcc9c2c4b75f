package metrics

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBuildInfoDescribesTheBuild(t *testing.T) {
	revision := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc123"}}
	for want, info := range map[string]*debug.BuildInfo{
		`go="unknown",program="unknown",revision="unknown",version="unknown"`: nil,
		`go="go1.26",program="example.org/engine",revision="abc123",version="v1.2.3"`: {
			GoVersion: "go1.26", Main: debug.Module{Path: "example.org/engine"}, Settings: revision,
			Deps: []*debug.Module{{Path: library + "/metrics", Version: "v9"}, {Path: library, Version: "v1.2.3"}},
		},
		`go="go1.26",program="github.com/hustings/hustings/cmd/hustings",revision="unknown",version="v1.3.0"`: {
			GoVersion: "go1.26", Main: debug.Module{Path: library + "/cmd/hustings"},
			Deps: []*debug.Module{{Path: library, Version: "v1.2.3", Replace: &debug.Module{Path: library, Version: "v1.3.0"}}},
		},
		`go="go1.26",program="github.com/hustings/hustings/cmd/hustings",revision="unknown",version="v0.0.0-0"`: {
			GoVersion: "go1.26", Main: debug.Module{Path: library + "/cmd/hustings"},
			Deps: []*debug.Module{{Path: library, Version: "v0.0.0-0", Replace: &debug.Module{Path: "../.."}}},
		},
	} {
		text := "# HELP hustings_build_info Always 1; the labels describe the build.\n# TYPE hustings_build_info gauge\nhustings_build_info{" + want + "} 1\n"
		require.NoError(t, testutil.CollectAndCompare(buildInfo(info), strings.NewReader(text)))
	}
	problems, err := testutil.CollectAndLint(buildInfo(nil))
	require.NoError(t, err)
	assert.Empty(t, problems)
}
