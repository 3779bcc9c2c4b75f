package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
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
