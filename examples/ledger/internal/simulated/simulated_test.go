// Many worlds:
//
//	go test ./internal/simulated -seeds 10000

package simulated

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

var (
	seeds = flag.Uint64("seeds", 40, "how many worlds to run")
	first = flag.Uint64("first", 0, "the first seed")
)

func TestNoAcknowledgedWriteIsLost(t *testing.T) {
	most := *seeds
	if testing.Short() {
		most = min(most, 8)
	}
	var next atomic.Uint64
	var questions atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < most && !t.Failed(); i = next.Add(1) - 1 {
				w := New(*first + i)
				synctest.Test(new(testing.T), func(*testing.T) { w.Play() })
				if wrong := w.Verdict(); wrong != "" {
					t.Errorf("seed %d: %s", *first+i, wrong)
				}
				questions.Add(int64(w.Questions()))
			}
		})
	}
	workers.Wait()
	t.Logf("%d worlds, %d questions", most, questions.Load())
}
