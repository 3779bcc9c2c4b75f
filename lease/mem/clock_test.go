package mem

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/wallclock"
	"github.com/hustings/hustings/lease"
)

// The host's clock may be set back while a lease is held. The lease must not last longer then.
func TestAStoreReadsNoWallClock(t *testing.T) {
	s := new(Store)
	_, err := s.Acquire(t.Context(), lease.Claim{Name: "g", Holder: "a#1", TTL: time.Hour})
	require.NoError(t, err)
	wallclock.Back(&s.epoch, 3600)
	found, err := s.Read(t.Context(), []string{"g"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.LessOrEqual(t, found[0].Left, time.Hour)
}
