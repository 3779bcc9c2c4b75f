package storetest

import (
	"crypto/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
)

// BenchmarkRenew renews ten thousand leases of one holder, and reports the cost of each.
func BenchmarkRenew(b *testing.B) {
	const leases = 10_000
	for name, open := range servers {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			store, held := s.store(b, s.address, new(counter)), make([]lease.Held, leases)
			var acquiring sync.WaitGroup
			for part := range slices.Chunk(held, leases/8) {
				acquiring.Go(func() {
					for i := range part {
						part[i] = lease.Held{Name: rand.Text(), Term: 1}
						won, err := store.Acquire(b.Context(), lease.Claim{Name: part[i].Name, Holder: "a#1", TTL: time.Minute})
						assert.NoError(b, err)
						assert.True(b, won)
					}
				})
			}
			acquiring.Wait()
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				kept, err := store.Renew(b.Context(), "a#1", held)
				took = append(took, time.Since(begin))
				require.NoError(b, err)
				require.Len(b, kept, leases)
			}
			slices.Sort(took)
			for unit, at := range map[string]int{"µs/lease": len(took) / 2, "µs/lease-p99": len(took) * 99 / 100} {
				b.ReportMetric(float64(took[at].Nanoseconds())/1000/leases, unit)
			}
		})
	}
}
