// Package between lets a test have others come between any two statements of a goroutine.
//
// Two statements of which the second makes true what the first has promised, such as a view that is stored and its
// watchers that are woken, leave a window between them. Nothing but luck opens it: a bubble of package synctest runs
// a goroutine until it waits, and the race detector sees no race where all is atomic. So Rebuild rebuilds a package
// with a call of Point before each of its statements, whatever they are in that moment, and All has another operation
// come at each of these points. What ships has no such calls.
//
// All is deterministic as far as the operations are. It runs them in bubbles, in which locks wait as channels do (see
// Lock), so it knows that an operation waits for another one without asking a clock.
package between

import (
	"sync"
	"sync/atomic"
)

// site is a place in a source, as in "watch.go:120", and how often it was come by.
type site struct {
	at    string
	times int
}

// run is one play of a world. Its goroutines all run in one bubble.
type run struct {
	mu       sync.Mutex
	seen     map[string]int // how often each place was come by
	order    []site         // the same, in their order
	stop     site           // where the next goroutine that comes by stands still; zero: nowhere
	standing chan struct{}  // closed when it may go on; nil: none stands
	unlocked chan struct{}  // closed when a lock is given back
}

var current atomic.Pointer[run] // nil: nobody steers

// watch begins to count anew, and has whoever comes to this place stand still there.
func (r *run) watch(stop site) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen, r.order, r.stop, r.standing = make(map[string]int), nil, stop, nil
}

// stands says what lets the goroutine that stands still go on; nil: none does.
func (r *run) stands() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.standing
}

// Point is called before each statement of a package that was rebuilt.
func Point(at string) {
	r := current.Load()
	if r == nil {
		return
	}
	r.mu.Lock()
	r.seen[at]++
	here := site{at, r.seen[at]}
	r.order = append(r.order, here)
	var gate chan struct{}
	if here == r.stop {
		gate = make(chan struct{})
		r.standing = gate
	}
	r.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

// Lock is called instead of a lock's own method, whose try is passed. Nobody knows of a goroutine in it that it waits.
func Lock(try func() bool) {
	for {
		r := current.Load()
		var again chan struct{}
		if r != nil {
			r.mu.Lock()
			again = r.unlocked
			r.mu.Unlock()
		}
		if try() {
			return
		}
		if again != nil {
			<-again
		}
	}
}

// Unlock is called instead of a lock's own method, which is passed.
func Unlock(unlock func()) {
	unlock()
	if r := current.Load(); r != nil {
		r.mu.Lock()
		close(r.unlocked)
		r.unlocked = make(chan struct{})
		r.mu.Unlock()
	}
}
