// Worlds in which more heartbeats may be missed than a leader remembers, or fewer.

package simulation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation"
)

func TestInvariantsHoldHoweverManyHeartbeatsMayBeMissed(t *testing.T) {
	effort.Alone(t)
	for leak := 2; leak <= 12; leak++ {
		t.Run(fmt.Sprintf("leak %d", leak), func(t *testing.T) {
			for seed := range effort.Of[uint64](20, 6) {
				timing := elector.DefaultTiming()
				timing.Leak = leak
				r := run(t, simulation.Options{
					Seed: seed, Members: 3 + int(seed%3), Leases: seed%4 != 0, Timing: timing, Duration: 20 * time.Second,
				})
				assert.Nil(t, r.Violation, "seed %d", seed)
			}
		})
	}
}
