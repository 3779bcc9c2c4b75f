// CONTRIBUTING's ways through the house name files and functions that exist.

package hustings_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var identifier = regexp.MustCompile(`^\w+$`)

func TestTheWaysThroughTheHouseNameWhatExists(t *testing.T) {
	document, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	_, ways, found := strings.Cut(string(document), "\n## From input to output, file by file\n")
	require.True(t, found)
	ways, _, found = strings.Cut(ways, "\n## ")
	require.True(t, found)

	file, source, functions := "", "", 0
	for _, name := range quoted.FindAllStringSubmatch(ways, -1) {
		switch {
		case strings.HasSuffix(name[1], ".go"):
			file = name[1]
			if !strings.Contains(file, "/") {
				file = path.Join("elector/protocol", file)
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			source = string(text)
		case identifier.MatchString(name[1]):
			functions++
			declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?` + name[1] + `[\[(]|type ` + name[1] + ` )`)
			assert.True(t, declared.MatchString(source), "%s has no %s", file, name[1])
		}
	}
	assert.Greater(t, functions, 100)
}
