// Package level is a value that others may look at without waiting, and wait to
// see changed. It is level-triggered: a slow reader skips values, but never the
// latest one.
package level

import (
	"context"
	"iter"
	"sync/atomic"
)

// Level is such a value. Set gives it its first one before anything else is
// called.
type Level[T any] struct {
	now atomic.Pointer[view[T]]
}

// view is a value that can be waited on to be replaced. It is small, for there may
// be many that nobody waits on.
type view[T any] struct {
	value   T
	changed atomic.Pointer[chan struct{}] // closed when replaced; made when first waited on
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
			if waiting := old.changed.Load(); waiting != nil {
				close(*waiting)
			}
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
			if !l.await(ctx, v) {
				return
			}
		}
	}
}

// await returns when v is not the latest any more, or false if the context ends
// before. Whoever replaces v looks for a channel after that, and who waits looks
// for a newer view after having made one: one of them sees the other.
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
