//go:build unix

package simulation

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkSearch measures how many states a search reaches in five seconds of CPU time.
func BenchmarkSearch(b *testing.B) {
	for _, guided := range []bool{false, true} {
		b.Run(fmt.Sprintf("guided=%t", guided), func(b *testing.B) {
			states, runs := 0, uint64(0)
			for range b.N {
				ctx, cancel := context.WithCancel(b.Context())
				began := cpu(b)
				c := Campaign{Guided: guided, Options: five, counting: true, Progress: func(*Summary) {
					if cpu(b)-began > 5*time.Second {
						cancel()
					}
				}}
				s, err := c.Run(ctx)
				require.NoError(b, err)
				states, runs = states+s.States, runs+s.Seeds
			}
			b.ReportMetric(float64(states)/float64(b.N), "states")
			b.ReportMetric(float64(runs)/float64(b.N), "runs")
		})
	}
}

// cpu is the CPU time that this process has used.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
