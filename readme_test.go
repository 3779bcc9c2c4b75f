// The README and the page on maintenance show code that runs.

package hustings_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The embedding of the README is the one of the elector's example, line by line.
func TestTheEmbeddingOfTheReadmeIsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	example, err := os.ReadFile("elector/example_test.go")
	require.NoError(t, err)
	_, rest, opened := strings.Cut(string(readme), "```go\n")
	shown, _, closed := strings.Cut(rest, "```\n")
	require.True(t, opened && closed, "the README shows no Go code")
	indented := "\t" + strings.ReplaceAll(strings.TrimSuffix(shown, "\n"), "\n", "\n\t") + "\n}\n"
	assert.Contains(t, string(example), indented, "elector/example_test.go does not hold the README's code, down to the end of a function")
}

// What the page on maintenance shows of an engine is in the elector's example, line by line.
func TestTheCodeOfMaintenanceIsTheExample(t *testing.T) {
	page, err := os.ReadFile("docs/maintenance.md")
	require.NoError(t, err)
	example, err := os.ReadFile("elector/maintenance_example_test.go")
	require.NoError(t, err)
	_, rest, opened := strings.Cut(string(page), "```go\n")
	shown, _, closed := strings.Cut(rest, "```\n")
	require.True(t, opened && closed, "the page shows no Go code")
	for part := range strings.SplitSeq(shown, "\n\n") {
		assert.Contains(t, string(example), part, "elector/maintenance_example_test.go does not hold this code of the page")
	}
}
