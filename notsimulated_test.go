// The document of what the simulator does not run names all files, with their lengths, and functions that
// exist.

package hustings_test

import (
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	notRun = regexp.MustCompile("(?m)^\\| (`[^|]+\\.go`) \\| (\\d+) \\| .*\\|$")
	quoted = regexp.MustCompile("`([^`]+)`")
)

func TestTheCodeThatTheSimulatorDoesNotRunIsListed(t *testing.T) {
	listed := make(map[string]bool)
	for _, row := range notRun.FindAllStringSubmatch(whatIsNotRun(t), -1) {
		folder, lines := "", 0
		for _, name := range quoted.FindAllStringSubmatch(row[1], -1) {
			file := name[1]
			if strings.Contains(file, "/") {
				folder = path.Dir(file)
			} else {
				file = path.Join(folder, file)
			}
			assert.False(t, listed[file], "%s is listed twice", file)
			listed[file] = true
			lines += codeLines(t, file)
		}
		said, err := strconv.Atoi(row[2])
		require.NoError(t, err)
		assert.InDelta(t, lines, said, float64(lines)/10, "lines of %s: there are %d", row[1], lines)
	}

	for _, files := range []string{
		"elector/*.go", "internal/office/*.go", "internal/level/*.go", "internal/logging/*.go",
		"rpc/grpcrpc/*.go", "memberstate/filestore*.go", "memberstate/memstore.go", "lease/*.go",
	} {
		all, err := filepath.Glob(files)
		require.NoError(t, err)
		for _, file := range all {
			file = filepath.ToSlash(file)
			if !strings.HasSuffix(file, "_test.go") && path.Base(file) != "doc.go" {
				assert.True(t, listed[file], "%s is not listed", file)
			}
		}
	}
}

func TestTheFunctionsThatTheSimulatorDoesNotRunExist(t *testing.T) {
	_, table, found := strings.Cut(whatIsNotRun(t), "| functions with statements that are not run | why |\n|---|---|\n")
	require.True(t, found)
	functions := 0
	for line := range strings.Lines(table) {
		row := strings.Split(line, "|")
		if len(row) < 3 {
			break
		}
		file, source := "", ""
		for _, name := range quoted.FindAllStringSubmatch(row[1], -1) {
			if strings.HasSuffix(name[1], ".go") {
				text, err := os.ReadFile(path.Join("elector/protocol", name[1]))
				require.NoError(t, err)
				file, source = name[1], string(text)
				continue
			}
			functions++
			assert.Regexp(t, `(?m)^func (\([^)]*\) )?`+name[1]+`[\[(]`, source, "%s", file)
		}
	}
	assert.Greater(t, functions, 30)
}

// whatIsNotRun is the section of the document.
func whatIsNotRun(t *testing.T) string {
	t.Helper()
	document, err := os.ReadFile("docs/verification.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(document), "### What it does not run\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n#")
	return section
}

// codeLines counts the lines of a file that have code.
func codeLines(t *testing.T, file string) (n int) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	source := token.NewFileSet().AddFile(file, -1, len(text))
	var s scanner.Scanner
	s.Init(source, text, nil, 0) // comments are skipped
	last := 0
	for {
		at, what, literal := s.Scan()
		if what == token.EOF {
			return n
		}
		if what == token.SEMICOLON && literal == "\n" {
			continue // the end of the line
		}
		if line := source.Line(at); line != last {
			n, last = n+1, line
		}
	}
}
