package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnInterruptedHuntGoesOn(t *testing.T) {
	root, name := t.TempDir(), filepath.Join(t.TempDir(), "results")
	source := filepath.Join(root, "a.go")
	require.NoError(t, os.WriteFile(source, []byte("package a"), 0o600))
	open := func() *results {
		r, err := openResults(name, root)
		require.NoError(t, err)
		return r
	}
	r := open()
	require.NoError(t, r.add(result{Mutant: "a", Noticed: "a test"}))
	require.NoError(t, r.add(result{Mutant: "b", Discarded: true}))
	require.NoError(t, r.close())

	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, append(text, `{"mutant": "c", "noti`...), 0o600))
	r = open()
	assert.Len(t, r.known, 2, "an incomplete line is ignored")
	require.NoError(t, r.add(result{Mutant: "c"}))
	require.NoError(t, r.close())

	r = open()
	assert.Len(t, r.known, 3)
	h := newTestHunter(t)
	var known []mutant
	for _, m := range []string{"a", "b", "c"} {
		known = append(known, mutant{Name: m, File: "nowhere"})
	}
	total, err := h.huntAll(context.WithoutCancel(t.Context()), 0, known, nil, true, r, io.Discard)
	require.NoError(t, err, "none of these is hunted again")
	assert.Equal(t, 1, total.Caught)
	assert.Equal(t, 1, total.Discarded)
	assert.Equal(t, []string{"c"}, total.Survivors)
	require.NoError(t, r.close())

	require.NoError(t, os.WriteFile(source, []byte("package b"), 0o600))
	r = open()
	assert.Empty(t, r.known, "the sources are others")
	require.NoError(t, r.close())
}

func TestResultsNeedNoFile(t *testing.T) {
	r, err := openResults("", t.TempDir())
	require.NoError(t, err)
	require.NoError(t, r.add(result{Mutant: "a"}))
	require.NoError(t, r.close())
}
