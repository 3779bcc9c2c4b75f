package simulation

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
)

// A world needs no more memory after many days than after one. HUSTINGS_TEST_LONG
// plays a week, and else it is some hours.
func TestMemoryDoesNotGrowWithTime(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	day, days := time.Hour, 4
	if os.Getenv("HUSTINGS_TEST_LONG") != "" {
		day, days = 24*time.Hour, 7
	}
	o := Options{Seed: 3, Members: 5, Leases: true}
	require.NoError(t, o.fill())
	w := newWorld(o)
	w.drawn()
	w.run(day)
	first := heap()
	for i := 2; i <= days; i++ {
		w.run(time.Duration(i) * day)
		t.Logf("day %d: %d KB, %d events, %d elections", i, heap()>>10, w.steps, w.election)
	}
	require.Nil(t, w.check.Violation)
	assert.Less(t, heap(), first*2+1<<20)
	w.options.Duration = time.Duration(w.now)
	r := w.play(nil)
	assert.Nil(t, r.Violation)
	assert.True(t, r.Demanded)
	runtime.KeepAlive(w)
}

// heap is how much is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
