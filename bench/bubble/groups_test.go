package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/groups"
)

func TestGroupsOfDragonboatFallQuiet(t *testing.T) {
	quieten()
	synctest.Test(t, func(t *testing.T) {
		s, err := foundTown(t.Context(), groups.Names(3))
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Stop()) }()
		require.NoError(t, s.Seen().Await(t.Context()))
		before := s.Seen().Messages.Load()
		require.NoError(t, s.Idle(t.Context(), time.Second))
		assert.Greater(t, s.Seen().Messages.Load(), before, "at first they beat")
		require.NoError(t, s.Settle(t.Context()))
		before = s.Seen().Messages.Load()
		require.NoError(t, s.Idle(t.Context(), time.Minute))
		assert.Equal(t, before, s.Seen().Messages.Load())
		for g := range 3 {
			assert.True(t, s.Seen().Led(g))
		}
	})
}
