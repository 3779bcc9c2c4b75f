// Package office has the call of an engine's Lead, and the lease that bounds it.
package office

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Lead serves for one term, until its context ends.
type Lead func(ctx context.Context, term memberstate.Term) error

// Office is the call of a Lead for one term.
type Office struct {
	Term   memberstate.Term
	ctx    context.Context
	cancel context.CancelFunc
}

// Open makes an office. It may be closed even before Serve.
func Open(term memberstate.Term) *Office {
	ctx, cancel := context.WithCancel(context.Background())
	return &Office{Term: term, ctx: ctx, cancel: cancel}
}

// Serve calls lead, unless the office has been closed, and returns its error. early says
// that lead returned before the office was closed. If lead ends its goroutine
// (runtime.Goexit), the office is closed.
func (o *Office) Serve(lead Lead) (early bool, err error) {
	defer o.cancel()
	if err := o.ctx.Err(); err != nil {
		return false, err
	}
	err = lead(o.ctx, o.Term)
	return o.ctx.Err() == nil, err
}

// Close ends the context of Lead, which should then return.
func (o *Office) Close() { o.cancel() }

// Lease is a leader's lease until a time of its clock. The clock may count from any time.
type Lease struct {
	Term  memberstate.Term
	until atomic.Int64
	ended atomic.Bool
	timer *time.Timer // nil before Watch
}

// NewLease makes a lease. After Watch, End must be called.
func NewLease(term memberstate.Term, until time.Duration) *Lease {
	l := &Lease{Term: term}
	l.until.Store(int64(until))
	return l
}

// Until is the end of the lease, or zero once Holds has returned false.
func (l *Lease) Until() time.Duration { return time.Duration(l.until.Load()) }

// Holds says whether the lease is held, and until when. Once Holds has returned false, the
// lease cannot be extended, because the caller may have acted on that.
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

// Extend extends the lease, unless it has run out.
func (l *Lease) Extend(until, now time.Duration) {
	for {
		old := l.until.Load()
		if int64(until) <= old || old <= int64(now) || l.until.CompareAndSwap(old, int64(until)) {
			return
		}
	}
}

// Watch calls lapsed once when the lease runs out, unless End is called before.
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

// End ends the lease before its time.
func (l *Lease) End() {
	l.ended.Store(true)
	l.timer.Stop()
}
