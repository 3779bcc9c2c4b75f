package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// An alarm that rang early would break promises: a clock shows a time at the moment that it
// says, and not before.
func TestAClockShowsWhatItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c clock
		now := rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "start")
		c.start(now)
		for range 3 {
			c.setRate(now, rapid.Int64Range(-anyDrift, anyDrift).Draw(t, "rate"))
			before := c.shows(now)
			due := before + time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "wait"))
			at := c.when(due)
			assert.GreaterOrEqual(t, c.shows(at), due)
			assert.Less(t, c.shows(at-1), due)
			now = rapid.Int64Range(now, at).Draw(t, "later")
			assert.GreaterOrEqual(t, c.shows(now), before, "it does not go back")
		}
	})
}
