// The numbers of connections, from several goroutines.

package grpcrpc

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Connections are numbered concurrently, and their numbers say which one is later. Under the race
// detector the test also finds a missing lock.
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
