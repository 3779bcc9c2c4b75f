// Waits grow up to the longest one, and end with the context.

package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachWaitIsTwiceAsLongUpToTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Waits{Shortest: time.Second, Longest: 5 * time.Second}
		for range 2 {
			assert.True(t, w.First())
			for _, want := range []time.Duration{1, 2, 4, 5, 5} {
				assert.Equal(t, want*time.Second, w.Next())
				began := time.Now()
				require.NoError(t, w.Wait(t.Context()))
				assert.Equal(t, want*time.Second, time.Since(began))
				assert.False(t, w.First())
			}
			w.Reset()
		}
	})
}

func TestAllWaitsMayBeTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Waits{Shortest: time.Second, Longest: time.Second}
		require.NoError(t, w.Wait(t.Context()))
		assert.False(t, w.First())
		assert.Equal(t, time.Second, w.Next())
	})
}

func TestAWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w, began := Waits{Shortest: time.Minute, Longest: time.Hour}, time.Now()
		require.ErrorIs(t, w.Wait(ctx), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
	})
}
