package cli

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func released() *debug.BuildInfo {
	return &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.org/hustings", Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs", Value: "git"},
			{Key: "vcs.revision", Value: "0123abcd"},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
}

func TestVersionReadsTheBuildInformation(t *testing.T) {
	assert.Equal(t, version{
		Module: "example.org/hustings", Version: "v1.2.3", Go: "go1.26.8",
		Revision: "0123abcd", Time: "2026-01-02T03:04:05Z", Modified: true,
	}, versionOf(released()))
}

func TestVersionSaysWhichValuesAreUnknown(t *testing.T) {
	assert.Equal(t, version{
		Module: "unknown", Version: "unknown", Go: "unknown", Revision: "unknown", Time: "unknown",
	}, versionOf(&debug.BuildInfo{}))
}

// A module from a proxy has a sum, so it is unchanged; one in a directory may have been edited.
func TestOnlyAReleaseThatWasDownloadedNamesTheRevisionThatItWasMadeFrom(t *testing.T) {
	defer func(old string) { origin = old }(origin)
	origin = "89abcdef 2026-03-04T05:06:07Z\n"
	info := &debug.BuildInfo{Main: debug.Module{Path: "example.org/hustings", Version: "v1.2.3"}}
	assert.Equal(t, unknown, versionOf(info).Revision)
	info.Main.Sum = "h1:x"
	v := versionOf(info)
	assert.Equal(t, "89abcdef", v.Revision)
	assert.Equal(t, "2026-03-04T05:06:07Z", v.Time)
	info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abcd"}}
	assert.Equal(t, "0123abcd", versionOf(info).Revision, "the build's own record comes first")
}

func TestVersionPrintsOneFactALine(t *testing.T) {
	assert.Equal(t, `example.org/hustings v1.2.3
go        go1.26.8
revision  0123abcd (modified)
time      2026-01-02T03:04:05Z
`, versionOf(released()).String())
}

func TestVersionAsJSONIsOneObjectOnOneLine(t *testing.T) {
	code, stdout, stderr := run("version", "--json")
	require.Equal(t, exitOK, code, stderr)
	assert.Equal(t, 1, strings.Count(stdout, "\n"))
	assert.True(t, strings.HasSuffix(stdout, "\n"))
	var v version
	require.NoError(t, json.Unmarshal([]byte(stdout), &v))
	assert.Equal(t, runtime.Version(), v.Go)
	assert.NotEmpty(t, v.Revision)
}

func TestVersionOfABinaryWithoutBuildInformationIsAnError(t *testing.T) {
	cmd := newVersion(func() (*debug.BuildInfo, bool) { return nil, false })
	cmd.SetArgs([]string{}) // nil would be the arguments of the test
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	assert.ErrorContains(t, cmd.Execute(), "no build information")
}

func TestVersionIsAFlagToo(t *testing.T) {
	code, stdout, stderr := run("--version")
	require.Equal(t, exitOK, code, stderr)
	assert.Equal(t, stdout, versionText(debug.ReadBuildInfo))
	assert.Contains(t, stdout, "\nrevision ")
}

// A binary without a revision says how to build one with it, even if GOFLAGS has -buildvcs=false.
func TestTheReadmeBuildsWithARevision(t *testing.T) {
	assert.Contains(t, versionOf(&debug.BuildInfo{}).String(), "go build -buildvcs=auto does")
	readme, err := os.ReadFile("../../../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), "    go build -buildvcs=auto -o hustings ./cmd/hustings\n")
	assert.NotContains(t, string(readme), "go build -o")
}
