package wallclock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/internal/wallclock"
)

func TestOnlyTheWallTimeIsChanged(t *testing.T) {
	before := time.Now()
	after := before
	wallclock.Back(&after, 3600)
	assert.Zero(t, after.Sub(before))
	assert.Equal(t, time.Hour, after.Round(0).Sub(before.Round(0)))
}
