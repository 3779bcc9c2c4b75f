// How long a lease may be used: less than the others wait, by what clocks may drift apart.

package elector_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestALeaseLeavesRoomForClocksThatDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timing := elector.DefaultTiming()
		el, err := elector.New(elector.Config{
			Group: "orders", Self: "a", Members: memberstate.Voters("a"), Timing: timing, Leases: true,
			Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("a"),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(t, err)
		require.NoError(t, el.Start())
		defer func() { assert.NoError(t, el.Stop(context.Background())) }()
		longest, held := time.Duration(0), false
		for range timing.Detection() / time.Millisecond {
			<-time.After(time.Millisecond)
			if _, until, ok := el.Lease(); ok {
				longest, held = max(longest, time.Until(until)), true
			}
		}
		assert.True(t, held)
		assert.LessOrEqual(t, longest, timing.Detection()-timing.DriftMargin)
	})
}
