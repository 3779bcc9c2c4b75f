// Package mem keeps leases in the memory of one process: for examples and tests, and for a
// service that has only one instance so far.
package mem

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/internal/row"
)

// Store is a [lease.Store], and a [lease.Waker]. The zero value has no leases.
type Store struct {
	// Clock is the store's clock, for simulations; nil: the monotonic clock of the
	// process.
	Clock func() time.Duration

	mu        sync.Mutex
	rows      map[string]row.Row
	epoch     time.Time // its clock counts from here
	stepped   time.Duration
	listeners map[*listener]struct{}
}

type listener struct {
	woken   func(name string)
	calling sync.WaitGroup // the calls of woken that are due or under way
}

// Step makes the store's clock jump, forward or back, as the clock of a database may. It is
// for tests.
func (s *Store) Step(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepped += by
}

// open locks the store and returns its time in microseconds. Its clock begins so late that no
// test steps it back to zero.
func (s *Store) open() (now int64) {
	const begin = 1 << 50
	s.mu.Lock()
	if s.rows == nil {
		s.rows, s.epoch = make(map[string]row.Row), time.Now()
	}
	if s.Clock != nil {
		return begin + (s.Clock() + s.stepped).Microseconds()
	}
	return begin + (time.Since(s.epoch) + s.stepped).Microseconds()
}

// Read implements [lease.Store].
func (s *Store) Read(ctx context.Context, names []string) ([]lease.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := s.open()
	defer s.mu.Unlock()
	var found []lease.Record
	for _, name := range names {
		if r, ok := s.rows[name]; ok {
			found = append(found, r.Record(name, now))
		}
	}
	return found, nil
}

// Acquire implements [lease.Store].
func (s *Store) Acquire(ctx context.Context, c lease.Claim) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	now := s.open()
	defer s.mu.Unlock()
	r, won := s.rows[c.Name].Acquire(c, now)
	if won {
		s.rows[c.Name] = r
	}
	return won, nil
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := s.open()
	defer s.mu.Unlock()
	var kept []string
	for _, h := range held {
		if r, ok := s.rows[h.Name].Renew(holder, h.Term, now); ok {
			s.rows[h.Name] = r
			kept = append(kept, h.Name)
		}
	}
	return kept, nil
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, holder string, h lease.Held) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.open()
	defer s.mu.Unlock()
	if r, ok := s.rows[h.Name].Release(holder, h.Term); ok {
		s.rows[h.Name] = r
	}
	return nil
}

// Force implements [lease.Store].
func (s *Store) Force(ctx context.Context, name, heir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.open()
	defer s.mu.Unlock()
	s.rows[name] = s.rows[name].Force(heir)
	return nil
}

// Names implements [lease.Lister].
func (s *Store) Names(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.open()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.rows)), nil
}

// Wake calls all listeners. It holds no lock meanwhile, because they may call the store.
func (s *Store) Wake(_ context.Context, name string) error {
	s.mu.Lock()
	listeners := slices.Collect(maps.Keys(s.listeners))
	for _, l := range listeners {
		l.calling.Add(1)
	}
	s.mu.Unlock()
	for _, l := range listeners {
		l.woken(name)
		l.calling.Done()
	}
	return nil
}

// Listen makes Wake call woken until the context ends. It returns when no call is under way.
func (s *Store) Listen(ctx context.Context, woken func(name string)) error {
	l := &listener{woken: woken}
	s.mu.Lock()
	if s.listeners == nil {
		s.listeners = make(map[*listener]struct{})
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
	l.calling.Wait()
	return ctx.Err()
}
