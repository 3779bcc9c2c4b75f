// An operator finds the messages that the handbook explains.

package hustings_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The messages in the first column of the table of symptoms are in the source, word by word.
func TestSymptomsInTheHandbookAreMessagesOfTheCode(t *testing.T) {
	handbook, err := os.ReadFile("docs/operation.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(handbook), "\n## When something is wrong\n")
	require.True(t, found)
	table, _, _ := strings.Cut(rest, "\n## ")
	source := sourceCode(t)
	messages := 0
	for line := range strings.Lines(table) {
		symptom, _, is := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		if !is {
			continue
		}
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(symptom, -1) {
			messages++
			assert.True(t, strings.Contains(source, quoted[1]), "docs/operation.md explains %q, which no code says", quoted[1]) //nolint:testifylint // Contains would print all source
		}
	}
	assert.Greater(t, messages, 15)
}

// sourceCode is that of all modules, without tests.
func sourceCode(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	}))
	return all.String()
}
