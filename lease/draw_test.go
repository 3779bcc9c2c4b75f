package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Every time within the bounds can be drawn, the bounds too, and no other one.
func TestATimeIsDrawnBetweenItsBounds(t *testing.T) {
	drawn := map[time.Duration]bool{}
	for range 1000 {
		drawn[effects{}.Draw(7, 9)] = true
	}
	assert.Equal(t, map[time.Duration]bool{7: true, 8: true, 9: true}, drawn)
	assert.Equal(t, time.Second, effects{}.Draw(time.Second, time.Second))
}
