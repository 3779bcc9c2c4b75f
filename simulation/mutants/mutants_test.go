package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mutant that does not apply any more would show nothing.
func TestEveryMutantApplies(t *testing.T) {
	assertApply(t, newTestHunter(t), handwritten)
}

func assertApply(t *testing.T, h *hunter, all []mutant) {
	t.Helper()
	names := map[string]bool{}
	for i := range all {
		m := &all[i]
		assert.NoError(t, h.lay(m), m.Name)
		assert.NotEqual(t, m.Old, m.New, m.Name)
		assert.False(t, names[m.Name], "%s is there twice", m.Name)
		names[m.Name] = true
	}
}

func newTestHunter(t *testing.T) *hunter {
	t.Helper()
	h, err := newHunter()
	require.NoError(t, err)
	t.Cleanup(h.close)
	return h
}

// A name that is misspelt would let the mutant be hunted in vain.
func TestRareMutantsAreListed(t *testing.T) {
	for _, name := range rare {
		assert.True(t, slices.ContainsFunc(handwritten, func(m mutant) bool { return m.Name == name }), name)
	}
}
