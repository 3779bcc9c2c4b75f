// Package backoff waits between two tries of what may go on failing: twice as long each time, up to a longest wait.
package backoff

import (
	"context"
	"time"
)

// Waits are the waits between tries, from the shortest to the longest.
type Waits struct {
	Shortest, Longest time.Duration

	next time.Duration // 0: the shortest
}

// Next is how long the next wait lasts.
func (w *Waits) Next() time.Duration { return max(w.next, w.Shortest) }

// First says whether nothing has been waited for since the beginning, or since Reset.
func (w *Waits) First() bool { return w.next == 0 }

// Wait waits. Its error is the context's, if that ends before.
func (w *Waits) Wait(ctx context.Context) error {
	wait := w.Next()
	w.next = min(2*wait, w.Longest)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reset begins with the shortest wait again, because a try has succeeded.
func (w *Waits) Reset() { w.next = 0 }
