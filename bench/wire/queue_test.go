package wire

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

func TestAQueueIsToldWhenNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done []string
		q := NewQueue(func() { done = append(done, "after") })
		q.mu.Lock() // so that both wait when the queue looks
		for range 2 {
			q.waiting = append(q.waiting, func() { done = append(done, "work") })
		}
		q.wake <- struct{}{}
		q.mu.Unlock()
		synctest.Wait()
		assert.Equal(t, []string{"work", "work", "after"}, done)
		q.End()
	})
}

func TestAQueueEndsAfterTheWorkUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done, goOn, q := 0, make(chan struct{}), NewQueue(nil)
		for range 2 {
			q.Put(func() {
				<-goOn
				done++
			})
		}
		synctest.Wait()
		q.End()
		close(goOn)
		synctest.Wait()
		assert.Equal(t, 1, done)
	})
}
