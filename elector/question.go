// Questions to the loop's node: what it shows is read in the loop, between two turns.

package elector

import (
	"context"

	"github.com/hustings/hustings/elector/protocol"
)

// question is one that the loop will answer. All callers that ask the same before it is answered share it, so that callers
// that give up waiting leave no more than one request behind.
type question[T any] struct {
	answered chan struct{} // closed when the answer is set
	answer   T
	read     func(protocol.Shown) T // called in the loop
}

// Shown takes in what the node shows.
func (q *question[T]) Shown(s protocol.Shown) {
	q.answer = q.read(s)
	close(q.answered)
}

// ask asks the node, and waits until the loop has time for it. There is no answer if no group of the host runs.
func ask[T any](ctx context.Context, h *Host, about protocol.Subject, read func(protocol.Shown) T) (answer T, runs bool, err error) {
	queued, runs := h.requestOnce(protocol.Request{Subject: about, For: &question[T]{answered: make(chan struct{}), read: read}})
	if !runs {
		return answer, false, nil
	}
	q := queued.(*question[T])
	select {
	case <-q.answered:
		return q.answer, true, nil
	case <-ctx.Done():
		return answer, true, ctx.Err()
	}
}
