// When a process was last held up. What it owes to others at once, or in a certain time,
// it owes only while nothing holds it up.

package shell

import (
	"sync"
	"time"
)

// trouble counts what holds a process up at the moment.
type trouble struct {
	mu    sync.Mutex
	now   int
	ended time.Time // the last of it
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

// freeFor is for how long nothing has held the process up since a moment.
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
