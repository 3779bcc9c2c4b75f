// A testing.TB that only records failures, and stores whose methods can be replaced, counted and
// blocked.

package leasetest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed atomic.Bool
}

func (r *recorder) Errorf(string, ...any) { r.failed.Store(true) }
func (r *recorder) Failed() bool          { return r.failed.Load() }

func (r *recorder) FailNow() {
	r.failed.Store(true)
	runtime.Goexit()
}

func (r *recorder) run(name string, subject Subject) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tests[name](newStand(r, subject))
	}()
	<-ended
}

// store is a store whose methods can be replaced.
type store struct {
	read    func(context.Context, []string) ([]lease.Record, error)
	acquire func(context.Context, lease.Claim) (bool, error)
	renew   func(context.Context, string, []lease.Held) ([]string, error)
	release func(context.Context, string, lease.Held) error
	force   func(context.Context, string, string) error
	names   func(context.Context) ([]string, error)
}

func over(m *mem.Store) *store {
	return &store{m.Read, m.Acquire, m.Renew, m.Release, m.Force, m.Names}
}

func (s *store) Read(ctx context.Context, names []string) ([]lease.Record, error) {
	return s.read(ctx, names)
}

func (s *store) Acquire(ctx context.Context, c lease.Claim) (bool, error) { return s.acquire(ctx, c) }

func (s *store) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	return s.renew(ctx, holder, held)
}

func (s *store) Release(ctx context.Context, holder string, h lease.Held) error {
	return s.release(ctx, holder, h)
}

func (s *store) Force(ctx context.Context, name, heir string) error { return s.force(ctx, name, heir) }
func (s *store) Names(ctx context.Context) ([]string, error)        { return s.names(ctx) }

// after calls do before every method, which fails if do does.
func (s *store) after(do func(context.Context) error) *store {
	b := *s
	s.read = func(ctx context.Context, names []string) ([]lease.Record, error) {
		if err := do(ctx); err != nil {
			return nil, err
		}
		return b.read(ctx, names)
	}
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		if err := do(ctx); err != nil {
			return false, err
		}
		return b.acquire(ctx, c)
	}
	s.renew = func(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
		if err := do(ctx); err != nil {
			return nil, err
		}
		return b.renew(ctx, holder, held)
	}
	s.release = func(ctx context.Context, holder string, h lease.Held) error {
		if err := do(ctx); err != nil {
			return err
		}
		return b.release(ctx, holder, h)
	}
	s.force = func(ctx context.Context, name, heir string) error {
		if err := do(ctx); err != nil {
			return err
		}
		return b.force(ctx, name, heir)
	}
	return s
}

// counting is a store whose statements are counted: each of its methods is one.
func counting(m *mem.Store) (s *store, n func() int) {
	var sent atomic.Int64
	s = over(m).after(func(context.Context) error { sent.Add(1); return nil })
	return s, func() int { return int(sent.Load()) }
}

// blocking is a store that can be blocked.
func blocking(m *mem.Store) Far {
	w := newWay()
	return Far{over(m).after(w.pass), w.hold, w.resume}
}

// way is a connection that can be blocked.
type way struct {
	mu   sync.Mutex
	open chan struct{} // closed while the way is open
}

func newWay() *way {
	w := &way{open: make(chan struct{})}
	close(w.open)
	return w
}

func (w *way) opened() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

func (w *way) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = make(chan struct{})
}

func (w *way) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.open:
	default:
		close(w.open)
	}
}

func (w *way) pass(ctx context.Context) error {
	select {
	case <-w.opened():
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recordOf returns the record of a lease.
func recordOf(m *mem.Store, name string) (r lease.Record) {
	found, err := m.Read(context.Background(), []string{name})
	if err == nil && len(found) > 0 {
		r = found[0]
	}
	return r
}

// rows makes a store change the records that it reads.
func rows(s *store, change func(*lease.Record)) {
	read := s.read
	s.read = func(ctx context.Context, names []string) ([]lease.Record, error) {
		found, err := read(ctx, names)
		for i := range found {
			change(&found[i])
		}
		return found, err
	}
}
