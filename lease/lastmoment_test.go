package lease

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A lease is shown in the last nanosecond before its end, and not at its end.
func TestALeaseIsNotShownAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming()})
		require.NoError(t, err)
		e, err := k.Join(GroupConfig{Name: "g"})
		require.NoError(t, err)
		leads(e, 7, k.now()+time.Second)
		end := time.Now().Add(time.Second)
		<-time.After(time.Second - 1)
		term, until, ok := e.Lease()
		require.True(t, ok)
		assert.EqualValues(t, 7, term)
		assert.Equal(t, end, until)
		<-time.After(1)
		_, _, ok = e.Lease()
		assert.False(t, ok)
	})
}
