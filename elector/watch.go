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
		w, _ := h.watch()
		defer h.watchers.end(w)
		for ctx.Err() == nil {
			if e := w.next(); e == nil {
				w.wait(ctx)
			} else if !yield(e.Status()) {
				return
			}
		}
	}
}

// WatchBatches yields what Watch does, as many statuses at a time as there are, but at most this many. A program that passes the
// table of all leaders on uses it, because one message is then for many groups, and the reader learns when it has all of them:
// the flag is false until every group that took part in the beginning has been yielded. If there was none, the first batch is
// empty, and says so. A batch is valid until the next one.
func (h *Host) WatchBatches(ctx context.Context, most int) iter.Seq2[[]Status, bool] {
	return func(yield func([]Status, bool) bool) {
		w, first := h.watch()
		defer h.watchers.end(w)
		var batch []Status
		told := false // that the reader has all
		for ctx.Err() == nil {
			batch = w.take(batch[:0], max(1, most))
			first -= len(batch)
			switch current := first <= 0; {
			case len(batch) == 0 && told:
				w.wait(ctx)
			case !yield(batch, current):
				return
			default:
				told = current
			}
		}
	}
}

// watch begins to watch all groups of the host. The first ones that the watcher takes out are those that take part now.
func (h *Host) watch() (w *watcher, first int) {
	w = h.watchers.begin()
	for _, e := range h.Electors() {
		if e.view.Load().begun() {
			w.begin(e)
		}
	}
	first = w.count()
	return w, first
}

// watchers are those who watch all groups of a host.
type watchers struct {
	mu  sync.Mutex
	all atomic.Pointer[[]*watcher] // replaced with mu held, never changed
}

// watcher is one of them, with the groups whose newest status it has not seen. A group is among them once, by its name,
// however often it ends and joins again meanwhile: otherwise a reader that hangs would fill the memory.
type watcher struct {
	changed chan struct{} // full if there may be some

	mu     sync.Mutex
	unseen []string // in the order in which they changed
	listed map[string]*Elector
}

func (l *watchers) begin() *watcher {
	w := &watcher{changed: make(chan struct{}, 1), listed: make(map[string]*Elector)}
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
	w.list(e)
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// begin has a group wait that was there when the watch began. One that is listed has changed since: it may even have ended, and another one of
// its name may have begun. The lock is taken for each group, because the loop must not wait until very many are listed.
func (w *watcher) begin(e *Elector) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listed[e.group.Name()] == nil {
		w.list(e)
	}
}

// count is how many groups wait.
func (w *watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.unseen)
}

// list has a group wait, once. The watcher's mu is held.
func (w *watcher) list(e *Elector) {
	group := e.group.Name()
	if w.listed[group] == nil {
		w.unseen = append(w.unseen, group)
	}
	w.listed[group] = e
}

// next takes out the group that has waited longest; nil if there is none. A change from now on lists it again.
func (w *watcher) next() *Elector {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.unseen) == 0 {
		if w.unseen != nil { // array and map may be large
			w.unseen, w.listed = nil, make(map[string]*Elector)
		}
		return nil
	}
	group := w.unseen[0]
	w.unseen = w.unseen[1:]
	e := w.listed[group]
	delete(w.listed, group)
	return e
}

// take takes out groups that wait, and appends their statuses to a batch until it has this many.
func (w *watcher) take(batch []Status, most int) []Status {
	for len(batch) < most {
		e := w.next()
		if e == nil {
			break
		}
		batch = append(batch, e.Status())
	}
	return batch
}

// wait returns when there may be a group to take out, or the context has ended.
func (w *watcher) wait(ctx context.Context) {
	select {
	case <-w.changed:
	case <-ctx.Done():
	}
}
