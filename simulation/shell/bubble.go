// This file makes a bubble of virtual time outside of a test.

package shell

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// errStuck says that goroutines of a world kept virtual time from passing.
var errStuck = errors.New("virtual time stands still")

// bubble calls f in a bubble of testing/synctest and returns when all its goroutines have
// ended. A bubble needs a *testing.T to report failures to. f reports none, so a new one works
// in any program.
//
// The error says which goroutines were left, or that moves did not grow during patience by the
// real clock. Then the bubble is abandoned with its goroutines, because they wait for a lock or
// loop for ever, and cannot be ended.
func bubble(seed uint64, patience time.Duration, f func(moves *atomic.Uint64)) error {
	moves := new(atomic.Uint64)
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() { ended <- err }()
		// A panic of a goroutine in the bubble ends the process. With
		// GODEBUG=tracebacklabels=1 its trace names the seed.
		pprof.Do(context.Background(), pprof.Labels("seed", strconv.FormatUint(seed, 10)), func(context.Context) {
			defer func() {
				if left := recover(); left != nil {
					err = fmt.Errorf("%v", left)
				}
			}()
			synctest.Test(new(testing.T), func(*testing.T) { f(moves) })
		})
	}()
	ticker := time.NewTicker(patience)
	defer ticker.Stop()
	for last := moves.Load(); ; last = moves.Load() {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
		}
		if moves.Load() == last {
			return fmt.Errorf("%w: nothing has moved for %v of real time\n%s", errStuck, patience, strings.Join(goroutines(), "\n\n"))
		}
	}
}

// settle waits until all goroutines of the bubble have done their work of this moment, because
// time passes only when all of them wait.
func settle() { time.Sleep(time.Nanosecond) }

// yield lets other goroutines run first, where a promise must hold in every order.
func yield() {
	for range 8 {
		runtime.Gosched()
	}
}

// goroutines lists the stacks of the other goroutines in the caller's bubble, or in any if
// the caller is in none. It leaves out the goroutines that make a bubble.
func goroutines() (stacks []string) {
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	all := strings.Split(string(text), "\n\n")
	mine := bubbleOf(all[0])
	for _, stack := range all[1:] {
		makes := strings.Contains(stack, "synctest.Run(") || strings.Contains(stack, "testingSynctestTest(")
		if b := bubbleOf(stack); b != "" && (mine == "" || b == mine) && !makes {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// bubbleOf is the bubble of a goroutine, which the first line of its stack names.
func bubbleOf(stack string) string {
	head, _, _ := strings.Cut(stack, "\n")
	_, bubble, _ := strings.Cut(head, "synctest bubble ")
	if end := strings.IndexAny(bubble, ",] "); end >= 0 {
		bubble = bubble[:end]
	}
	return bubble
}
