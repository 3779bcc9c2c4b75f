// What metrics are told of leaders that leave their heartbeats to their node.

package elector_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/elector"
)

// A quorum's answers are counted once for all leaders of a cohort. A leader that wakes says so first.
func TestMetricsAreToldOfCohorts(t *testing.T) {
	var mu sync.Mutex
	rests, heard, waited := map[string]uint32{}, map[uint32]int{}, 0
	f := &fleet{groups: fleetGroups, timing: elector.DefaultTiming(), change: func(node int, c *elector.HostConfig) {
		if node != 0 {
			return
		}
		c.Metrics = &elector.Metrics{
			QuorumHeard: func(group string, _ time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				if rests[group] != 0 {
					waited++
				}
			},
			Rests: func(group string, cohort uint32) {
				mu.Lock()
				defer mu.Unlock()
				rests[group] = cohort
			},
			CohortHeard: func(cohort uint32, took time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				heard[cohort]++
				assert.Equal(t, 2*time.Millisecond, took, "there and back")
			},
		}
	}}
	withFleetOf(t, f, func(f *fleet) {
		mu.Lock()
		clear(heard)
		mu.Unlock()
		<-time.After(100 * f.timing.Heartbeat)
		mu.Lock()
		assert.Len(t, heard, 2, "with leases and without")
		for _, count := range heard {
			assert.InDelta(t, 100, count, 2)
		}
		nodes, _ := f.leaders()
		for g, node := range nodes {
			assert.Equal(t, node == 0, rests[fmt.Sprint("g", g)] != 0)
		}
		assert.Zero(t, waited)
		mu.Unlock()
	})
	for group, cohort := range rests {
		assert.Zero(t, cohort, group)
	}
}
