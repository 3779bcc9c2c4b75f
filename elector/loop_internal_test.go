// How long the loop waits for its next turn.

package elector

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// If it waited for a turn that is long due, every timer of the node would stand still.
func TestALoopDoesNotWaitForWhatIsDue(t *testing.T) {
	for _, c := range []struct{ next, now, waits time.Duration }{
		{5, 3, 2}, {3, 3, 0}, {2, 3, 0}, {-1, 3, 0}, {math.MinInt64, time.Hour, 0}, {math.MaxInt64, 0, math.MaxInt64},
	} {
		assert.Equal(t, c.waits, until(c.next, c.now), "%d at %d", c.next, c.now)
	}
}
