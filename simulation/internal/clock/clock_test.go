package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// An alarm that rang early would break promises: a clock shows a time at the moment that it
// says, and not before.
func TestAClockReachesATimeWhenItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Clock
		now := rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "start")
		c.Start(now)
		for range 3 {
			c.SetRate(now, rapid.Int64Range(-300_000, 300_000).Draw(t, "rate"))
			before := c.Shows(now)
			due := before + time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "wait"))
			at := c.When(due)
			assert.GreaterOrEqual(t, c.Shows(at), due)
			assert.Less(t, c.Shows(at-1), due)
			now = rapid.Int64Range(now, at).Draw(t, "later")
			assert.GreaterOrEqual(t, c.Shows(now), before, "it does not go back")
		}
	})
}
