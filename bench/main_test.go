package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/bench/figure"
)

func TestSectionsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sections(nil, nil) {
		assert.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
		assert.NotEmpty(t, s.Title, s.Name)
		assert.NotEmpty(t, s.Configured, s.Name)
		assert.NotEqual(t, s.Extent(figure.Plan{}), s.Extent(figure.Plan{Quick: true}), "%s: what is said was run", s.Name)
	}
}
