// Package level has a value that goroutines can read without waiting, and wait for the
// changes of. It is level-triggered: a slow reader skips values, but never the latest one.
package level

import (
	"context"
	"iter"
	"sync/atomic"
)

// Level is such a value. Set must be called before any other method.
type Level[T any] struct {
	now atomic.Pointer[view[T]]
}

// view is one value, with a channel to wait for its replacement. The channel is made only
// when needed, because there may be many views that no reader waits for.
type view[T any] struct {
	value   T
	changed atomic.Pointer[chan struct{}] // closed when replaced; made when first waited on
}

// Set sets the first value.
func (l *Level[T]) Set(value T) { l.now.Store(&view[T]{value: value}) }

// Load returns the latest value.
func (l *Level[T]) Load() T { return l.now.Load().value }

// Update replaces the value by next(value), unless next returns false. It returns the
// value that is then the latest. It may call next several times.
func (l *Level[T]) Update(next func(T) (T, bool)) (value T, changed bool) {
	for {
		old := l.now.Load()
		value, changed := next(old.value)
		if !changed {
			return old.value, false
		}
		if l.now.CompareAndSwap(old, &view[T]{value: value}) {
			if waiting := old.changed.Load(); waiting != nil {
				close(*waiting)
			}
			return value, true
		}
	}
}

// Watch yields the value, now and after every change, until the context ends or it has
// yielded a value for which last is true.
func (l *Level[T]) Watch(ctx context.Context, last func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v := l.now.Load()
			if ctx.Err() != nil || !yield(v.value) || last(v.value) {
				return
			}
			if !l.await(ctx, v) {
				return
			}
		}
	}
}

// await returns true when v is no longer the latest, and false if the context ends before.
// Update checks for a channel after it has replaced v, and await checks for a newer view
// after it has made the channel, so at least one of them sees the other.
func (l *Level[T]) await(ctx context.Context, v *view[T]) bool {
	if v.changed.Load() == nil {
		replaced := make(chan struct{})
		v.changed.CompareAndSwap(nil, &replaced)
	}
	if l.now.Load() != v {
		return true
	}
	select {
	case <-*v.changed.Load():
		return true
	case <-ctx.Done():
		return false
	}
}

// Handler receives a value's changes.
type Handler[T any] interface {
	Startup()
	Handle(value T)
	Shutdown()
}

// Tell passes values to a handler until there are no more.
func Tell[T any](handler Handler[T], values iter.Seq[T]) {
	handler.Startup()
	for v := range values {
		handler.Handle(v)
	}
	handler.Shutdown()
}
