package figure

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheBestPeerCounts(t *testing.T) {
	f := Figure{Unit: "ns", Ours: 10}
	f.Beside("slow", 40)
	f.Beside("fast", 20)
	f.Beside("as fast", 20)
	f.Beside("slower", 30)
	assert.Equal(t, "fast", f.PeerName)
	require.NotNil(t, f.Peer)
	assert.InDelta(t, 20, *f.Peer, 0)
	require.NotNil(t, f.Ratio)
	assert.InDelta(t, 0.5, *f.Ratio, 0)
}

func TestOfRatesTheLargerIsBetter(t *testing.T) {
	f := Figure{Unit: "events/s", Ours: 10}
	f.Beside("slow", 2)
	f.Beside("fast", 5)
	f.Beside("slower", 1)
	assert.Equal(t, "fast", f.PeerName)
	assert.InDelta(t, 2, *f.Ratio, 0)
}

func TestAPeersZeroHasNoRatio(t *testing.T) {
	f := Figure{Unit: "%"}
	f.Beside("another", 0)
	assert.NotNil(t, f.Peer)
	assert.Nil(t, f.Ratio)
}
