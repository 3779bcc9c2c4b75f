// Waiting for the next view, at the moment when another one has just come.

package elector

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

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
