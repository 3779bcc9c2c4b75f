// The engine's callbacks, and the clock that ends a lease: what a group's session asks
// for is done here, beside the loop and never in it.

package elector

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
)

// engine is an Elector as its node sees it: a protocol.Engine. Its methods are called by
// the loop.
type engine Elector

// callbacks are what an engine has handed in, and what runs of it.
type callbacks struct {
	lead     func(ctx context.Context, term memberstate.Term) error // nil: there is none
	pause    func(ctx context.Context, term memberstate.Term) error // nil: there is none
	handlers []RoleHandler                                          // until the group has started

	office  atomic.Pointer[office.Office]
	lease   atomic.Pointer[office.Lease]
	pausing *pauseJob // the handover for which writes are paused; the loop's
}

// pauseJob is a handover for which the engine pauses its writes.
type pauseJob struct{ cancel context.CancelFunc }

// AskLedger calls the engine's LedgerEnd. It may have to wait for locks of its own.
func (e *engine) AskLedger(term memberstate.Term) {
	h, g := e.Host(), &e.group
	var end memberstate.Position
	err := fmt.Errorf("elector: group %q: LedgerEnd: %w", g.Name(), errExited)
	go func() {
		defer h.request(func() {
			heard := memberstate.Term(0)
			if x := e.more.Load(); x != nil {
				heard = memberstate.Term(x.announced.Load())
			}
			h.node.LedgerEnd(g, end, heard, err)
		})
		end, err = e.ledgerEnd(term), nil
	}()
}

// Hold begins a lease, has it last longer, or ends it. Whoever looks at it in between may
// have seen that it has run out, and then nothing extends it.
func (e *engine) Hold(until time.Duration) {
	x := e.more.Load() // it has leases
	switch l := x.lease.Load(); {
	case until == 0:
		if l != nil {
			x.lease.Store(nil)
			l.End()
		}
	case l == nil:
		l = office.NewLease(e.group.Term, until)
		x.lease.Store(l)
		e.watch(l)
	default:
		l.Extend(until, e.Host().now)
	}
}

// watch ends the office when the lease runs out, also when the loop is held up.
func (e *engine) watch(l *office.Lease) {
	x, lapsed := e.more.Load(), false
	e.beside(func() {
		lapsed = l.RunsOut(e.Host().elapsed)
		if o := x.office.Load(); lapsed && o != nil && o.Term == l.Term {
			o.Close()
		}
	}, func() {
		if lapsed {
			e.Host().node.LeaseOver(&e.group, l.Term)
		}
	})
}

// Lead calls the engine's Lead. If it ends its goroutine instead of returning, that is an
// early return like any other.
func (e *engine) Lead(term memberstate.Term) {
	x := e.more.Load()
	if x == nil || x.lead == nil {
		return
	}
	o := office.Open(term)
	x.office.Store(o)
	if l := x.lease.Load(); l != nil {
		if _, held := l.Holds(e.Host().elapsed()); !held {
			o.Close() // whoever watches the lease may have looked for an office before there was one
		}
	}
	early, err := false, errExited
	lead := func(ctx context.Context, term memberstate.Term) error {
		defer func() { early = ctx.Err() == nil }()
		err = x.lead(ctx, term)
		return err
	}
	e.beside(func() { _, _ = o.Serve(lead) }, func() {
		x.office.Store(nil)
		if early && x.pausing == nil { // it was not asked to end
			e.Host().log.Warn("lead returned early, resigning", "group", e.group.Name(), "term", uint64(term), "error", err)
		}
		e.Host().node.LeadReturned(&e.group, term, early)
	})
}

// EndLead ends the context of Lead. One that there is none of has returned with that.
func (e *engine) EndLead(term memberstate.Term) {
	if x := e.more.Load(); x != nil && x.lead != nil {
		if o := x.office.Load(); o != nil {
			o.Close()
		}
		return
	}
	e.Host().node.LeadReturned(&e.group, term, false)
}

// Pause calls the engine's Pause.
func (e *engine) Pause(term memberstate.Term, number uint32) {
	node, g, x := e.Host().node, &e.group, e.more.Load()
	if x == nil || x.pause == nil {
		node.PauseEnded(g, number, nil)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	job, err := &pauseJob{cancel}, errExited
	x.pausing = job
	e.beside(func() { err = x.pause(ctx, term) }, func() {
		if err != nil && x.pausing == job {
			e.Host().log.Warn("writes could not be paused", "group", g.Name(), "term", uint64(term), "error", err)
		}
		node.PauseEnded(g, number, err)
	})
}

// Resume ends the context of Pause.
func (e *engine) Resume() {
	if x := e.more.Load(); x != nil && x.pausing != nil {
		x.pausing.cancel()
		x.pausing = nil
	}
}

// beside does work for a group in a goroutine of its own, and then has the loop do
// what is left: also if work ends its goroutine (runtime.Goexit) instead of returning.
func (e *engine) beside(work, rest func()) {
	e.outstanding++
	go func() {
		defer e.Host().request(func() {
			e.outstanding--
			rest()
			e.bury()
		})
		work()
	}()
}
