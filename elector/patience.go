// A store that does not answer. A call of it cannot be ended, so whatever waits for one waits as long as the disk hangs. A
// caller of this package does not: once the store has been silent for a detection time, it gets an error.

package elector

import (
	"fmt"
	"sync"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// store is the host's store, which knows for how long it has not answered.
type store struct {
	memberstate.Store
	elapsed func() time.Duration

	mu    sync.Mutex
	calls int           // under way
	since time.Duration // when the store last answered, or was called after it had nothing to do
}

// Load is that of the user's store.
func (s *store) Load(group string) (memberstate.Record, bool, error) {
	defer s.call()()
	return s.Store.Load(group)
}

// Save is that of the user's store.
func (s *store) Save(batch []memberstate.Record) error {
	defer s.call()()
	return s.Store.Save(batch)
}

// call notes a call that begins, and returns what notes its end.
func (s *store) call() (over func()) {
	s.count(1)
	return func() { s.count(-1) }
}

func (s *store) count(more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == 0 || more < 0 {
		s.since = s.elapsed()
	}
	s.calls += more
}

// silent is for how long the store has not answered; 0: it has nothing to answer.
func (s *store) silent() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == 0 {
		return 0
	}
	return s.elapsed() - s.since
}

// patience is for how long a caller waits for a store that is silent: the longest detection time of the groups that have
// joined, after which a node is not able to lead for want of its disk. For short ones it is a second.
func (h *Host) patience() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(h.electorates.Detection(), time.Second)
}

// await waits until done is closed or token takes a value; one of them is nil. It returns an error when the caller has waited
// since began for too long, and the store has been silent for as long.
func (h *Host) await(done <-chan struct{}, token chan<- struct{}, began time.Duration) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for patience := h.patience(); ; {
		silent := h.store.silent()
		left := patience - min(h.elapsed()-began, silent)
		timer.Reset(max(left, 0))
		select {
		case <-done:
			return nil
		case token <- struct{}{}:
			return nil
		case <-timer.C:
		}
		if left > 0 {
			continue
		}
		select { // of several that are ready at a time, the first select has taken any
		case <-done:
			return nil
		case token <- struct{}{}:
			return nil
		default:
			return protocol.Say(ErrStoreSilent, "the store of node %q has not answered for %v: look at its disk", h.config.Self, silent.Round(time.Millisecond))
		}
	}
}

// claim takes entering.
func (h *Host) claim() error {
	if err := h.await(nil, h.entering, h.elapsed()); err != nil {
		return fmt.Errorf("elector: nothing was changed: %w", err)
	}
	return nil
}

// release gives entering back.
func (h *Host) release() { <-h.entering }
