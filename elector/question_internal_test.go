// Questions to the loop.

package elector

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/elector/protocol"
)

// Whoever is woken reads the answer at once.
func TestAnAnswerIsThereWhenItsReadersAreWoken(t *testing.T) {
	q := &question[int]{answered: make(chan struct{})}
	q.read = func(protocol.Shown) int {
		select {
		case <-q.answered:
			assert.Fail(t, "they were woken before")
		default:
		}
		return 7
	}
	q.Shown(protocol.Shown{})
	<-q.answered
	assert.Equal(t, 7, q.answer)
}
