package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/wallclock"
)

// A host's clock may be set back while its candidate leads. Its lease must not last longer then.
func TestAKeeperReadsNoWallClock(t *testing.T) {
	k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming()})
	require.NoError(t, err)
	wallclock.Back(&k.epoch, 3600)
	assert.GreaterOrEqual(t, k.now(), time.Duration(0))
}
