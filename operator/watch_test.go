package operator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Watching ends with the context of whoever watches, which is no error.
func TestWatchingEndsWithItsContext(t *testing.T) {
	s := newSite(t)
	s.leader(0)
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan int)
	go func() {
		seen := 0
		for _, err := range s.dial("n1").Watch(ctx, "orders") {
			assert.NoError(t, err)
			seen++
			cancel()
		}
		ended <- seen
	}()
	select {
	case seen := <-ended:
		assert.Positive(t, seen)
	case <-s.ctx.Done():
		require.FailNow(t, "it goes on")
	}
}
