// Package office is about being in office: the call of an engine's Lead, and the
// lease that bounds it.
package office

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Lead serves for one term, until its context ends.
type Lead func(ctx context.Context, term memberstate.Term) error

// Office is one term in which a Lead serves.
type Office struct {
	Term   memberstate.Term
	ctx    context.Context
	cancel context.CancelFunc
}

// Open is an office that can be closed from now on, before it is served even.
func Open(term memberstate.Term) *Office {
	ctx, cancel := context.WithCancel(context.Background())
	return &Office{Term: term, ctx: ctx, cancel: cancel}
}

// Serve calls lead, unless the office has been closed, and returns what it did.
// Early says that nobody had closed the office. A lead that ends its goroutine
// (runtime.Goexit) ends this call with it, and the office.
func (o *Office) Serve(lead Lead) (early bool, err error) {
	defer o.cancel()
	if err := o.ctx.Err(); err != nil {
		return false, err
	}
	err = lead(o.ctx, o.Term)
	return o.ctx.Err() == nil, err
}

// Close has the office end: its Lead should return now.
func (o *Office) Close() { o.cancel() }

// Lease is what a leader holds until a time of its clock. Times are counted from
// wherever the clock counts them.
type Lease struct {
	Term  memberstate.Term
	until atomic.Int64
	ended atomic.Bool
	timer *time.Timer // nil: nobody watches it
}

// NewLease is a lease. Somebody must End it if it is watched.
func NewLease(term memberstate.Term, until time.Duration) *Lease {
	l := &Lease{Term: term}
	l.until.Store(int64(until))
	return l
}

// Until is when it runs out, or zero once Holds has said that it has.
func (l *Lease) Until() time.Duration { return time.Duration(l.until.Load()) }

// Holds says whether it is held, and until when. One that was seen to have run out
// stays so, whatever confirmation is still under way: it may have been acted upon.
func (l *Lease) Holds(now time.Duration) (until time.Duration, held bool) {
	for {
		end := l.until.Load()
		if int64(now) < end {
			return time.Duration(end), true
		}
		if l.until.CompareAndSwap(end, 0) {
			return 0, false
		}
	}
}

// Extend makes it last longer, unless it has run out.
func (l *Lease) Extend(until, now time.Duration) {
	for {
		old := l.until.Load()
		if int64(until) <= old || old <= int64(now) || l.until.CompareAndSwap(old, int64(until)) {
			return
		}
	}
}

// Watch has lapsed called when its time is up, unless it is ended before. It is called once.
func (l *Lease) Watch(clock func() time.Duration, lapsed func()) {
	l.timer = time.AfterFunc(time.Hour, func() {
		now := clock()
		switch until, held := l.Holds(now); {
		case l.ended.Load():
		case held:
			l.timer.Reset(until - now)
		default:
			lapsed()
		}
	})
	l.timer.Reset(l.Until() - clock())
}

// End ends it before its time.
func (l *Lease) End() {
	l.ended.Store(true)
	l.timer.Stop()
}
