package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Databases that do not start, and tests that fail without a mutant, notice nothing, and do not let a mutant survive.
func TestAMutantThatNoDatabaseMetIsNotJudged(t *testing.T) {
	const passes, fails, breaks = `printf 'ok  \tm\t0.1s\n'`, `printf 'FAIL\tm\n'; exit 1`, `echo 'cannot install postgresql' >&2; exit 100`
	for name, c := range map[string]struct{ sound, broken, noticed, untried string }{
		"databases start": {sound: passes, broken: passes},
		"a test fails":    {sound: passes, broken: fails, noticed: "the tests break off"},
		"none starts":     {sound: breaks, broken: breaks, untried: "cannot install postgresql"},
		"one ends":        {sound: passes, broken: breaks, untried: "cannot install postgresql"},
		"a test is ill":   {sound: fails, broken: fails, untried: "notice without a mutant"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHunter(t)
			h.root = t.TempDir()
			dir := filepath.Join(h.root, "lease", "internal", "storetest")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			script := "case \"$*\" in *-overlay*) " + c.broken + " ;; *) " + c.sound + " ;; esac\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "with"), []byte(script), 0o600))
			s, err := databases.look(t.Context(), h, &mutant{File: "lease/kv/kv.go"})
			require.NoError(t, err)
			assert.Equal(t, c.noticed, s.noticed)
			assert.Contains(t, s.untried, c.untried)
			assert.Equal(t, c.untried == "", s.untried == "")
		})
	}
}
