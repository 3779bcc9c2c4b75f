// Package level is a value that others may look at without waiting, and wait to
// see changed. It is level-triggered: who is slow skips values, but never the
// latest.
package level

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
)

// Level is such a value. Set gives it its first one before anything else is
// called.
type Level[T any] struct {
	now atomic.Pointer[view[T]]
}

// view is a value that can be waited on to be replaced.
type view[T any] struct {
	value    T
	mu       sync.Mutex
	outdated bool
	changed  chan struct{} // closed when outdated; made when first waited on
}

// replaced is closed when there is a newer view.
func (v *view[T]) replaced() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changed == nil {
		v.changed = make(chan struct{})
		if v.outdated {
			close(v.changed)
		}
	}
	return v.changed
}

func (v *view[T]) outdate() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.outdated = true
	if v.changed != nil {
		close(v.changed)
	}
}

// Set is the first value.
func (l *Level[T]) Set(value T) { l.now.Store(&view[T]{value: value}) }

// Load is the latest value.
func (l *Level[T]) Load() T { return l.now.Load().value }

// Update replaces the value by what next makes of it, unless next says that
// there is nothing to change; it returns the value that is there then. It may
// call next several times.
func (l *Level[T]) Update(next func(T) (T, bool)) (value T, changed bool) {
	for {
		old := l.now.Load()
		value, changed := next(old.value)
		if !changed {
			return old.value, false
		}
		if l.now.CompareAndSwap(old, &view[T]{value: value}) {
			old.outdate()
			return value, true
		}
	}
}

// Watch yields the value, now and after every change, until the context ends or
// it has yielded one that is the last.
func (l *Level[T]) Watch(ctx context.Context, last func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v := l.now.Load()
			if ctx.Err() != nil || !yield(v.value) || last(v.value) {
				return
			}
			select {
			case <-v.replaced():
			case <-ctx.Done():
				return
			}
		}
	}
}

// Handler is told of a value's changes.
type Handler[T any] interface {
	Startup()
	Handle(value T)
	Shutdown()
}

// Tell tells a handler of values until there are no more.
func Tell[T any](handler Handler[T], values iter.Seq[T]) {
	handler.Startup()
	for v := range values {
		handler.Handle(v)
	}
	handler.Shutdown()
}
