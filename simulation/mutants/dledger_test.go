package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every fault has a mutant, or does not concern the protocol.
func TestEveryFaultHasAMutant(t *testing.T) {
	for i, f := range dledgerFaults {
		assert.Equal(t, i+1, f.number)
		assert.NotEmpty(t, f.what, f.number)
		assert.Equal(t, f.mutants == nil, f.why != "", "fault %d has mutants, or a reason why it has none", f.number)
		hunted := false
		for _, name := range f.mutants {
			at := slices.IndexFunc(handwritten, func(m mutant) bool { return m.Name == name })
			if assert.GreaterOrEqual(t, at, 0, "%s, for fault %d", name, f.number) {
				hunted = hunted || handwritten[at].Equivalent == ""
			}
		}
		assert.True(t, hunted || f.why != "", "all mutants for fault %d are equivalent", f.number)
	}
	assert.Len(t, dledgerFaults, 30)
}

// The document's table has a row for each fault, and names all tests of its number. Every fault has one.
func TestTheDocumentListsTheTestsOfEveryFault(t *testing.T) {
	text, err := os.ReadFile("../../docs/dledger.md")
	require.NoError(t, err)
	var faults string
	for part := range strings.SplitSeq(string(text), "\n## ") {
		if strings.HasPrefix(part, "Faults that must not come back\n") {
			faults = part
		}
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| (.*) \| .+ \| (.*) \|$`).FindAllStringSubmatch(faults, -1)
	require.Len(t, rows, len(dledgerFaults))
	tests := testsOfFaults(t)
	for i, f := range dledgerFaults {
		row := rows[i]
		assert.Equal(t, fmt.Sprint(f.number), row[1])
		assert.Equal(t, f.what, row[2])
		of := tests[fmt.Sprintf("%02d", f.number)]
		assert.NotEmpty(t, of, "no test is named after fault %d", f.number)
		slices.Sort(of)
		assert.Equal(t, "`"+strings.Join(of, "`, `")+"`", row[3], "fault %d", f.number)
	}
	assert.Len(t, tests, len(dledgerFaults), "there are tests of other numbers")
}

// testsOfFaults are the functions and scenarios that are named after the number of a fault, in all modules.
func testsOfFaults(t *testing.T) map[string][]string {
	t.Helper()
	of := make(map[string][]string)
	function, scenario := regexp.MustCompile(`(?m)^func (TestFault(\d\d)\w+)\(`), regexp.MustCompile(`^(fault-(\d\d)-.*)\.txt$`)
	err := filepath.WalkDir("../..", func(path string, file fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file.IsDir() && file.Name() == ".git":
			return filepath.SkipDir
		case filepath.Base(filepath.Dir(path)) == "testdata":
			if found := scenario.FindStringSubmatch(file.Name()); found != nil {
				of[found[2]] = append(of[found[2]], found[1])
			}
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, found := range function.FindAllSubmatch(text, -1) {
				of[string(found[2])] = append(of[string(found[2])], string(found[1]))
			}
		}
		return nil
	})
	require.NoError(t, err)
	return of
}
