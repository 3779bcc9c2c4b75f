// A store for tests: in memory, with a simulated disk cache that a crash may lose.

package memberstate

import (
	"maps"
	"sync"
)

// MemStore is a [Store] in memory that can be crashed. Between Write and Sync a
// record is as in a disk cache: Load does not return it, and it may or may not
// survive a Crash. The zero value is an empty store.
type MemStore struct {
	mu      sync.Mutex
	durable map[string]Record
	written []Record // not yet synced, oldest first
	broken  error
}

// Load returns the durable record of a group.
func (s *MemStore) Load(group string) (Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.durable[group]
	return r, ok, nil
}

// Save writes a batch and syncs.
func (s *MemStore) Save(batch []Record) error {
	if err := s.Write(batch); err != nil {
		return err
	}
	return s.Sync()
}

// Write puts a batch where a crash may lose it.
func (s *MemStore) Write(batch []Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	s.written = append(s.written, batch...)
	return nil
}

// Sync makes all written records durable.
func (s *MemStore) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	s.settle(func(Record) bool { return true })
	return nil
}

// Crash simulates the end of the process that used the store: of the records that were
// written but not synced, those survive for which survives returns true. A store that
// was broken works again, as a disk does that is opened again.
func (s *MemStore) Crash(survives func(Record) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = nil
	s.settle(survives)
}

// Break makes every Write, Sync and Save fail with err until the next Crash.
func (s *MemStore) Break(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

// Durable returns a copy of the records that survive any crash.
func (s *MemStore) Durable() map[string]Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.durable)
}

// settle moves the written records that survive to the durable ones. A group's
// later record replaces its earlier one.
func (s *MemStore) settle(survives func(Record) bool) {
	if s.durable == nil {
		s.durable = make(map[string]Record)
	}
	for _, r := range s.written {
		if survives(r) {
			s.durable[r.Group] = r
		}
	}
	s.written = s.written[:0]
}
