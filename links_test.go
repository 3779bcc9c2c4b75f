// The links of the documents lead somewhere.

package hustings_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	var documents []string
	for _, where := range []string{"*.md", "docs/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(where)
		require.NoError(t, err)
		require.NotEmpty(t, found, where)
		documents = append(documents, found...)
	}
	links := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			to, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			links++
			file := document
			if to != "" {
				file = filepath.Join(filepath.Dir(document), to)
			}
			there, err := os.Stat(file)
			if !assert.NoError(t, err, document) || anchor == "" || there.IsDir() || filepath.Ext(file) != ".md" {
				continue
			}
			assert.Contains(t, anchors(t, file), anchor, "in %s", document)
		}
	}
	assert.Greater(t, links, 50)
}

var (
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile("[^a-z0-9 _-]")
)

// anchors are those that GitHub gives the headings of a document.
func anchors(t *testing.T, document string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	for _, found := range heading.FindAllStringSubmatch(string(text), -1) {
		all = append(all, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	return all
}
