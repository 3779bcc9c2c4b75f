// How the writers of a peer learn that their entries have been applied.

package hangs

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
)

// Applied knows the entries of one member that somebody waits for. The zero Applied knows none.
type Applied struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// entries are all entries that have been proposed. Each has a number, so that it is not taken for
// another member's.
var entries atomic.Uint64

// Write proposes an entry, and returns when the member has applied it.
func (a *Applied) Write(ctx context.Context, propose func(entry []byte) error) error {
	name, is := strconv.FormatUint(entries.Add(1), 10), make(chan struct{})
	a.mu.Lock()
	if a.waiting == nil {
		a.waiting = make(map[string]chan struct{})
	}
	a.waiting[name] = is
	a.mu.Unlock()
	defer a.forget(name)
	if err := propose([]byte(name)); err != nil {
		return err
	}
	select {
	case <-is:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *Applied) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, name)
}

// Apply says that the member has applied an entry, its own or another's.
func (a *Applied) Apply(entry []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is, own := a.waiting[string(entry)]; own {
		delete(a.waiting, string(entry))
		close(is)
	}
}
