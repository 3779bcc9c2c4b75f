// A lease that joins a shared one or leaves it, when another goroutine comes in between: here it waits for the shared lease's lock.

package office

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// joinOrLeave begins that while the lock is held, looks once it had time to come so far, and returns when it is over.
func joinOrLeave(s *Shared, do, look func()) {
	over := make(chan struct{})
	s.mu.Lock()
	go func() {
		defer close(over)
		do()
	}()
	for range 1000 {
		runtime.Gosched()
	}
	look()
	s.mu.Unlock()
	<-over
}

// pair is a short lease, and a long one that it may share.
func pair(t *testing.T) (*Lease, *Shared) {
	t.Helper()
	s := NewShared(time.Hour, func() time.Duration { return 0 }, func() {})
	t.Cleanup(s.End)
	return NewLease(1, 10), s
}

// Whoever saw neither end would take the lease for over, and it would be lost.
func TestALeaseIsHeldWhileItLeaves(t *testing.T) {
	l, s := pair(t)
	l.Share(s, func() {})
	joinOrLeave(s, func() { l.Leave() }, func() {
		for l.shared.Load() != nil {
			runtime.Gosched()
		}
		_, held := l.Holds(20)
		assert.True(t, held)
	})
}

// If the shared lease runs out before it knows whom to close, nobody looks again.
func TestALeaseIsSharedOnceItCanBeClosed(t *testing.T) {
	l, s := pair(t)
	joinOrLeave(s, func() { l.Share(s, func() {}) }, func() { assert.Nil(t, l.shared.Load()) })
	assert.NotNil(t, l.shared.Load())
}

// A function that is called when the shared lease has run out may end its own lease, or wait for somebody who does.
func TestLeasesAreClosedUnderNoLock(t *testing.T) {
	l, s := pair(t)
	closed, free := false, false
	l.Share(s, func() {
		closed = true
		if free = s.mu.TryLock(); free {
			s.mu.Unlock()
		}
	})
	s.close(time.Hour)
	assert.True(t, closed)
	assert.True(t, free)
}

// A timer may fire again while the owner is being told.
func TestAnOwnerIsNotToldAgainWhileItIsTold(t *testing.T) {
	l, told := NewLease(1, 10), 0
	l.lapsed = func() {
		if told++; told == 1 {
			l.tell()
		}
	}
	l.tell()
	assert.Equal(t, 1, told)
}
