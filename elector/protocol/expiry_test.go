package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestALeaseIsExtendedUntilItHasRunOut(t *testing.T) {
	e := Expiry(10)
	assert.True(t, e.Holds(9))
	assert.False(t, e.Holds(10))
	assert.Equal(t, Expiry(20), e.Extended(20, 9))
	assert.Equal(t, e, e.Extended(20, 10), "somebody may have acted on its end")
	assert.Equal(t, e, e.Extended(5, 9), "somebody may have seen its end")
	assert.Zero(t, Expiry(0).Extended(20, 0))
}

func TestOfTwoLeasesTheLaterEndCounts(t *testing.T) {
	for _, c := range []struct{ own, shared, want Expiry }{
		{10, 20, 20}, {20, 10, 20}, {20, 0, 20}, {0, 20, 0},
	} {
		assert.Equal(t, c.want, c.own.With(c.shared), "%+v", c)
	}
	assert.Zero(t, Expiry(0).With(Expiry(time.Hour)), "a lease that is over does not go on")
}
