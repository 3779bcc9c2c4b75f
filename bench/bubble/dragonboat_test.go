package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/hangs"
)

func TestDragonboatGoesThroughEveryFault(t *testing.T) {
	quieten()
	for _, s := range hangs.With(hangs.Dragonboat, found) {
		for f, replaced := range map[hangs.Fault]bool{hangs.DiskHangs: true, hangs.EngineHangs: s.Watchdog, hangs.ProcessStops: true} {
			t.Run(s.Name+" "+string(f), func(t *testing.T) {
				took, is, err := hangs.Trial(t, s, f, 1)
				require.NoError(t, err)
				assert.Equal(t, replaced, is)
				if is { // otherwise took is zero
					assert.Greater(t, took, 0.5, "nobody knows it sooner")
				}
			})
		}
	}
}

func TestAddressesNameTheirNodes(t *testing.T) {
	for i := range hangs.Members {
		at, err := nodeAt(address(i))
		require.NoError(t, err)
		assert.Equal(t, i, at)
	}
	_, err := nodeAt("elsewhere:1")
	require.Error(t, err)
}
