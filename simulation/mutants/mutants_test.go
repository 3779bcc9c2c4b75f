package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mutant that does not apply any more would show nothing.
func TestEveryMutantApplies(t *testing.T) {
	h, err := newHunter(0)
	require.NoError(t, err)
	defer h.close()
	names := map[string]bool{}
	for i := range handwritten {
		m := &handwritten[i]
		_, err := h.overlay(m)
		assert.NoError(t, err, m.Name)
		assert.False(t, names[m.Name], "%s is there twice", m.Name)
		names[m.Name] = true
	}
}
