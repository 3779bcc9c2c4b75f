// Package simulated runs whole nodes of the example engine in virtual time, over a network and disks that fail, and checks what
// their clients see.
//
//	go test ./simulated -seeds 10000
package simulated_test

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
	var next atomic.Uint64
	var questions atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < *seeds && !t.Failed(); i = next.Add(1) - 1 {
				w := newWorld(*first + i)
				synctest.Test(new(testing.T), func(*testing.T) { w.play() })
				if w.failed == "" {
					w.failed = w.history.Check()
				}
				if w.failed != "" {
					t.Errorf("seed %d: %s\nfaults: %q", *first+i, w.failed, w.faults)
				}
				questions.Add(int64(w.history.Len()))
			}
		})
	}
	workers.Wait()
	t.Logf("%d worlds, %d questions", *seeds, questions.Load())
}
