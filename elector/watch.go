// Watching all groups of a host in one place, instead of with a goroutine for each.

package elector

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// Watch yields the status of every group of the host that takes part, and then the newest status of each group
// that has changed, until the context ends. The last status of a group that ends says Stopped. A slow reader skips
// changes, but never the latest of a group, and may see that one twice. A group that joins later is yielded when it starts.
//
// An engine with many groups that has one loop for all of them uses this instead of GroupConfig.Lead or
// Elector.Watch, which need a goroutine for each group.
func (h *Host) Watch(ctx context.Context) iter.Seq[Status] {
	return func(yield func(Status) bool) {
		w := h.watchers.begin()
		defer h.watchers.end(w)
		for _, e := range h.Electors() {
			if e.view.Load().revision > 0 {
				w.add(e)
			}
		}
		for ctx.Err() == nil {
			if e := w.next(); e != nil {
				if !yield(e.Status()) {
					return
				}
				continue
			}
			select {
			case <-w.changed:
			case <-ctx.Done():
			}
		}
	}
}

// watchers are those who watch all groups of a host.
type watchers struct {
	mu  sync.Mutex
	all atomic.Pointer[[]*watcher] // replaced with mu held, never changed
}

// watcher is one of them, with the groups whose newest status it has not seen. A group is among them once.
type watcher struct {
	changed chan struct{} // full if there may be some

	mu     sync.Mutex
	unseen []*Elector // in the order in which they changed
	listed map[*Elector]bool
}

func (l *watchers) begin() *watcher {
	w := &watcher{changed: make(chan struct{}, 1), listed: make(map[*Elector]bool)}
	l.replace(func(all []*watcher) []*watcher { return append(all, w) })
	return w
}

func (l *watchers) end(w *watcher) {
	l.replace(func(all []*watcher) []*watcher {
		return slices.DeleteFunc(all, func(other *watcher) bool { return other == w })
	})
}

func (l *watchers) replace(by func([]*watcher) []*watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := by(slices.Clone(l.list()))
	l.all.Store(&all)
}

func (l *watchers) list() []*watcher {
	if all := l.all.Load(); all != nil {
		return *all
	}
	return nil
}

// tell tells all of them that a group has changed.
func (l *watchers) tell(e *Elector) {
	for _, w := range l.list() {
		w.add(e)
	}
}

func (w *watcher) add(e *Elector) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listed[e] {
		return
	}
	w.listed[e] = true
	w.unseen = append(w.unseen, e)
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// next takes out the group that has waited longest; nil if there is none. A change from now on lists it again.
func (w *watcher) next() *Elector {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.unseen) == 0 {
		w.unseen = nil // the array may be long
		return nil
	}
	e := w.unseen[0]
	w.unseen = w.unseen[1:]
	delete(w.listed, e)
	return e
}
