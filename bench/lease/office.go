// The offices of candidates, by one clock.

package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// office is the lifetime of a leader's context.
type office struct {
	candidate    int
	began, ended time.Time // ended is zero while the context lives
}

// record records the offices of all candidates for one lease.
type record struct {
	mu      sync.Mutex
	offices []*office
	changed chan struct{} // closed at the next change
}

func newRecord() *record { return &record{changed: make(chan struct{})} }

// lead is a candidate's Lead, which only waits for the end of its context.
func (r *record) lead(ctx context.Context, candidate int) {
	o := &office{candidate: candidate}
	r.note(func(now time.Time) {
		o.began = now
		r.offices = append(r.offices, o)
	})
	<-ctx.Done()
	r.note(func(now time.Time) { o.ended = now })
}

func (r *record) note(what func(now time.Time)) {
	now := time.Now() // before it waits for the lock
	r.mu.Lock()
	defer r.mu.Unlock()
	what(now)
	close(r.changed)
	r.changed = make(chan struct{})
}

// await waits until the offices are as wanted, and returns them.
func (r *record) await(ctx context.Context, wanted func([]*office) bool) ([]office, error) {
	for {
		r.mu.Lock()
		done, changed := wanted(r.offices), r.changed
		r.mu.Unlock()
		if done {
			return r.all(), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r.all(), context.Cause(ctx)
		}
	}
}

// all returns the offices so far. Those that still last end now.
func (r *record) all() []office {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	all := make([]office, len(r.offices))
	for i, o := range r.offices {
		all[i] = *o
		if o.ended.IsZero() {
			all[i].ended = now
		}
	}
	return all
}

// leads returns a condition: the candidate has entered office.
func leads(candidate int) func([]*office) bool {
	return func(all []*office) bool {
		return slices.ContainsFunc(all, func(o *office) bool { return o.candidate == candidate })
	}
}

// resigned returns a condition: none of the candidate's contexts lives.
func resigned(candidate int) func([]*office) bool {
	return func(all []*office) bool {
		return !slices.ContainsFunc(all, func(o *office) bool { return o.candidate == candidate && o.ended.IsZero() })
	}
}

// overlap returns the longest time for which two candidates were in office at once.
func overlap(all []office) (longest time.Duration) {
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.candidate == b.candidate {
				continue
			}
			from, to := a.began, a.ended
			if b.began.After(from) {
				from = b.began
			}
			if b.ended.Before(to) {
				to = b.ended
			}
			longest = max(longest, to.Sub(from))
		}
	}
	return longest
}
