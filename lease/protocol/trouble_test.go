package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Repeated failures are reported at growing intervals, up to five minutes, each time with their
// number. After a time without failures the intervals begin anew.
func TestTroubleIsToldEverMoreRarely(t *testing.T) {
	var tr trouble
	told := map[int]int{}
	for second := range 1000 {
		if n, tell := tr.fails(time.Duration(second) * time.Second); tell {
			told[second] = n
		}
	}
	assert.Equal(t, map[int]int{0: 1, 10: 10, 30: 20, 70: 40, 150: 80, 310: 160, 610: 300, 910: 300}, told)
	assert.True(t, tr.works())
	assert.False(t, tr.works())
	_, tell := tr.fails(1100 * time.Second)
	assert.False(t, tell, "a call that works in between makes no difference")
	for _, second := range []time.Duration{1401, 1411} {
		n, tell := tr.fails(second * time.Second)
		assert.True(t, tell)
		assert.Equal(t, map[time.Duration]int{1401: 91, 1411: 1}[second], n)
	}
}
