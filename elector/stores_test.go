// Stores that are slow or fail.

package elector_test

import (
	"runtime"
	"sync/atomic"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// gatedStore is a store whose saves wait for their outcome once it has a gate.
type gatedStore struct {
	memberstate.MemStore
	gate chan error // set while nothing is saved
}

func (s *gatedStore) Save(batch []memberstate.Record) error {
	if s.gate != nil {
		if err := <-s.gate; err != nil {
			return err
		}
	}
	return s.MemStore.Save(batch)
}

// slowStore is a store whose load of group "slow" waits for its outcome.
type slowStore struct {
	memberstate.MemStore
	loading chan struct{} // closed when the load has begun
	outcome chan error
}

func newSlowStore() *slowStore {
	return &slowStore{loading: make(chan struct{}), outcome: make(chan error)}
}

func (s *slowStore) Load(group string) (memberstate.Record, bool, error) {
	if group == "slow" {
		close(s.loading)
		if err := <-s.outcome; err != nil {
			return memberstate.Record{}, false, err
		}
	}
	return s.MemStore.Load(group)
}

// failingStore saves the first state, and fails afterwards while failing is set.
type failingStore struct {
	memberstate.MemStore
	failing atomic.Bool
	saves   atomic.Int32
}

func newFailingStore() *failingStore {
	s := new(failingStore)
	s.failing.Store(true)
	return s
}

func (s *failingStore) Save(batch []memberstate.Record) error {
	if s.saves.Add(1) > 1 && s.failing.Load() {
		return assert.AnError
	}
	return s.MemStore.Save(batch)
}

// exitingStore saves the first state, and ends its goroutine at the second save.
type exitingStore struct {
	memberstate.MemStore
	saves atomic.Int32
}

func (s *exitingStore) Save(batch []memberstate.Record) error {
	if s.saves.Add(1) > 1 {
		runtime.Goexit()
	}
	return s.MemStore.Save(batch)
}
