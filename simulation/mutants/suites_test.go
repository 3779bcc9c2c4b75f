package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheNearestTestsRunFirst(t *testing.T) {
	some := []string{"x_test.go"}
	all := []listed{
		{ImportPath: "far", Imports: []string{"near"}, TestGoFiles: some},
		{ImportPath: "near", Imports: []string{"it"}, TestGoFiles: []string{"x_test.go", "y_test.go"}},
		{ImportPath: "tests", XTestImports: []string{"it"}, XTestGoFiles: some},
		{ImportPath: "untested", Imports: []string{"it"}},
		{ImportPath: "behind", Imports: []string{"untested"}, TestGoFiles: some},
		{ImportPath: "it", TestGoFiles: some},
		{ImportPath: "apart", TestGoFiles: some},
		{ImportPath: "m/simulation/explore", Imports: []string{"it"}, TestGoFiles: some},
	}
	assert.Equal(t, []string{"it", "tests", "near", "far", "behind"}, nearest(all, "it"))
}

func TestTestsOfAModuleRunInIt(t *testing.T) {
	h := newTestHunter(t)
	for file, want := range map[string]struct{ own, others []suite }{
		"metrics/metrics.go":        {own: []suite{{"metrics", "github.com/hustings/hustings/metrics"}}},
		"lease/kv/etcdkv/etcdkv.go": {others: []suite{{"lease/internal/storetest", "./..."}}},
	} {
		own, others, err := h.asked(t.Context(), &mutant{File: file})
		require.NoError(t, err)
		assert.Equal(t, want.own, own, file)
		assert.Equal(t, want.others, others, file)
	}
	_, _, err := h.asked(t.Context(), &mutant{File: "nowhere/x.go"})
	assert.ErrorContains(t, err, "nowhere")
}

func TestPackagesWithConcurrencyAreRaced(t *testing.T) {
	h := newTestHunter(t)
	for file, want := range map[string]bool{"elector/host.go": true, "rpc/grpcrpc/codec.go": true, "elector/protocol/node.go": false} {
		found, err := h.runsBeside(file)
		require.NoError(t, err)
		assert.Equal(t, want, found, file)
	}
}
