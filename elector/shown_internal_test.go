// Waiting for the next view, at the moment when another one has just come.

package elector

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
)

// A waiter that is woken before the new view is there would wait again, for one that may never come. It looks as soon as it can,
// or it would hardly ever be early enough to see that.
func TestAViewIsThereWhenItsWaitersAreWoken(t *testing.T) {
	e := new(Elector)
	e.view.Store(new(numberedView))
	const times = 40_000
	turns := make(chan struct{})
	go func() {
		for range turns {
			e.show(protocol.View{})
		}
	}()
	defer close(turns)
	for range times {
		before, woken := e.view.Load(), e.awaited()
		turns <- struct{}{}
		for waits := 0; waits >= 0; waits++ {
			select {
			case <-woken:
				waits = -2
			default:
				if waits%1000 == 999 { // or the other goroutine has no processor
					runtime.Gosched()
				}
			}
		}
		require.NotSame(t, before, e.view.Load())
	}
}

// The loop stores a view before it closes the channel of those who wait for it. Who reads the view in between, and then
// waits, finds that channel: it must wait for another one, or Watch yields the view twice.
func TestAViewIsNotAwaitedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := new(Elector)
		e.view.Store(&numberedView{revision: 1})
		e.awaited()
		v := &numberedView{revision: 2}
		e.view.Store(v)

		var returned, other bool
		go func() {
			other = e.awaitOther(t.Context(), v)
			returned = true
		}()
		synctest.Wait()
		close(*e.extras.Load().replaced.Swap(nil))
		synctest.Wait()
		assert.False(t, returned, "it is the latest view")

		e.show(v.View)
		synctest.Wait()
		assert.True(t, returned)
		assert.True(t, other)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.False(t, e.awaitOther(ctx, e.view.Load()))
	})
}

// atOnce calls a function in so many goroutines, as nearly at one moment as can be, and returns what they return.
func atOnce[T any](goroutines int, call func() T) []T {
	var ready atomic.Int32
	var calls sync.WaitGroup
	all := make([]T, goroutines)
	for i := range all {
		calls.Go(func() {
			for ready.Add(1); ready.Load() < int32(goroutines); {
				runtime.Gosched()
			}
			all[i] = call()
		})
	}
	calls.Wait()
	return all
}

// All who wait for a view wait for one channel, because show closes one. Who had another one would sleep on.
func TestAllWhoWaitForAViewShareAChannel(t *testing.T) {
	for range 1000 {
		e := new(Elector)
		all := atOnce(3, e.awaited)
		for _, awaited := range append(all, e.awaited()) {
			require.Equal(t, all[0], awaited)
		}
	}
}

// The extras are made by whoever needs them first, and nobody goes on with others, in which his change would be lost.
func TestAllWhoNeedTheExtrasShareThem(t *testing.T) {
	for range 1000 {
		e := new(Elector)
		for _, made := range atOnce(3, e.ensureExtras) {
			require.Same(t, e.extras.Load(), made)
		}
	}
}

// A view may come after its reader has looked for one, and before he waits. If that did not wake him, he would sleep until the next
// change, which may never come. Here none comes.
func TestAViewThatComesBeforeTheWaitEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := new(Elector)
		e.view.Store(new(numberedView))
		for range 5000 {
			v := e.view.Load()
			go e.show(protocol.View{})
			require.True(t, e.awaitOther(t.Context(), v))
		}
	})
}
