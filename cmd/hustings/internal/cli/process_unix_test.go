//go:build unix

package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What the kernel does for a process, it does at the process's expense.
func TestTheTimeOfTheKernelCounts(t *testing.T) {
	used := func() (own, ofKernel time.Duration) {
		var u unix.Rusage
		require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
	}
	own, ofKernel := used()
	for ofKernel < 20*time.Millisecond {
		own, ofKernel = used()
	}
	now := cpuTime()
	ownThen, ofKernelThen := used()
	assert.GreaterOrEqual(t, now, own+ofKernel)
	assert.LessOrEqual(t, now, ownThen+ofKernelThen)
}
