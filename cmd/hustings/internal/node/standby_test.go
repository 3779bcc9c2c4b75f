package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestStandingBackGrowsWithFailuresAndEndsWithSuccess(t *testing.T) {
	var s standby
	now := time.Now()
	waits := func(ran time.Duration, byItself bool) time.Duration {
		s.ended(ran, byItself, now)
		return max(0, s.until.Sub(now))
	}
	for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		assert.Equal(t, seconds*time.Second, waits(10*time.Millisecond, true))
	}
	assert.Zero(t, waits(atOnce, true), "it has worked for a while")
	assert.Equal(t, time.Second, waits(0, true))
	assert.Equal(t, time.Second, waits(0, false), "an office that was short says nothing about the program")
	assert.Zero(t, waits(time.Hour, false))
	assert.Equal(t, time.Second, waits(atOnce-1, true))
	assert.Zero(t, (*program)(nil).standsBack(), "there is no program")
}
