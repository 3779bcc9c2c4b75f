package storetest

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
)

// What it costs to renew ten thousand leases of one holder, for each of them.
func BenchmarkRenew(b *testing.B) {
	const leases = 10_000
	for name, d := range databases {
		b.Run(name, func(b *testing.B) {
			s := d.store(b, d.open(b, ""))
			held := make([]lease.Held, leases)
			for i := range held {
				held[i] = lease.Held{Name: rand.Text(), Term: 1}
				won, err := s.Acquire(b.Context(), lease.Claim{Name: held[i].Name, Holder: "a#1", TTL: time.Minute})
				require.NoError(b, err)
				require.True(b, won)
			}
			for b.Loop() {
				kept, err := s.Renew(b.Context(), "a#1", held)
				require.NoError(b, err)
				require.Len(b, kept, leases)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/leases, "µs/lease")
		})
	}
}
