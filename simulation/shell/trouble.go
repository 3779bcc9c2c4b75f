// This file notes when a process was last held up, because it must act at once, or in a
// certain time, only while nothing holds it up.

package shell

import (
	"sync"
	"time"
)

// trouble counts the causes that hold a process up at the moment.
type trouble struct {
	mu    sync.Mutex
	now   int
	ended time.Time // when the last cause ended
}

func (t *trouble) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
}

func (t *trouble) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now--
	t.ended = time.Now()
}

// freeFor is how long nothing has held the process up, counted from a moment at the earliest.
func (t *trouble) freeFor(since time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now > 0 {
		return 0
	}
	if t.ended.After(since) {
		since = t.ended
	}
	return time.Since(since)
}

// noneSince says whether nothing has held the process up from a moment on.
func (t *trouble) noneSince(since time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now == 0 && t.ended.Before(since)
}
