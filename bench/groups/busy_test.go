package groups

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
)

func TestABusyGroupHandsOverAndBeatsBesideQuietOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &heartbeats{group: Names(1)[0]}
		o, err := foundOurs(t.Context(), Names(5), busy, elector.Metrics{QuorumHeard: heard.add})
		require.NoError(t, err)
		defer func() { require.NoError(t, o.Stop()) }()
		require.NoError(t, o.rest(t.Context()))
		heard.drop()
		before := o.seen.tally()
		require.NoError(t, o.Idle(t.Context(), time.Second))
		all := o.seen.since(before)
		assert.Len(t, heard.drop(), 10, "a heartbeat every 100 ms, of one group")
		assert.InDelta(t, 10*2*(Hosts-1), all.messages-all.beats, 4, "and the others send nothing")
		for range 2 * Hosts {
			leader, _ := o.seen.leader(0)
			_, err := o.handOver(t.Context())
			require.NoError(t, err)
			require.NoError(t, await(t.Context(), func() bool { return o.seen.Led(0) }))
			next, _ := o.seen.leader(0)
			assert.Equal(t, (leader+1)%Hosts, next)
		}
	})
}

func TestABusyGroupIsMeasuredWithAndWithoutOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		figures, err := measureBusy(t.Context(), 3)
		require.NoError(t, err)
		require.Len(t, figures, 4)
		for i := range figures {
			assert.Equal(t, "the group alone", figures[i].PeerName)
		}
	})
}
