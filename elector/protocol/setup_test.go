// What a group must not be configured with.

package protocol

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// The bound is in bytes, as that of the messages which carry the name.
func TestTheNameOfAGroupIsBoundedInBytes(t *testing.T) {
	for name, fits := range map[string]bool{
		strings.Repeat("g", rpc.MaxGroupLength):     true,
		strings.Repeat("g", rpc.MaxGroupLength+1):   false,
		strings.Repeat("ä", rpc.MaxGroupLength/2+1): false,
	} {
		var bad Complaints
		s := Setup{Group: name, Timing: DefaultTiming()}
		s.Electorate("n0", &bad)
		complains := strings.Contains(errors.Join(bad...).Error(), "bytes")
		assert.Equal(t, fits, !complains, "%d bytes: %v", len(name), bad)
	}
}

// Voters promise no longer lease than that, so a leader would never have one.
func TestADetectionTimeIsBounded(t *testing.T) {
	timing := DefaultTiming()
	timing.Heartbeat = maxDetection / time.Duration(timing.Leak)
	require.NoError(t, timing.Validate(false))
	timing.Heartbeat++
	assert.ErrorContains(t, timing.Validate(false), "Timing.Heartbeat")
}
