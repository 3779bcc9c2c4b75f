package grpcrpc

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Connections of both directions are numbered at the same time, and no two alike: by their
// numbers it is told which came later. Without its lock the race detector sees it.
func TestNoTwoConnectionsHaveOneNumber(t *testing.T) {
	l, _ := linkTo(t)
	const callers, each = 8, 200
	var all [callers][]uint64
	var calls sync.WaitGroup
	for i := range callers {
		calls.Go(func() {
			for range each {
				all[i] = append(all[i], l.number())
			}
		})
	}
	calls.Wait()
	seen := map[uint64]bool{}
	for _, numbers := range all {
		assert.IsIncreasing(t, numbers)
		for _, n := range numbers {
			seen[n] = true
		}
	}
	assert.Len(t, seen, callers*each)
	assert.EqualValues(t, callers*each+1, l.number())
}
