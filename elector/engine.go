// The engine's callbacks, and the clock that ends a lease: what a group's session asks
// for is done here, beside the loop and never in it.

package elector

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/elector/protocol"
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

	office atomic.Pointer[office.Office]
	lease  atomic.Pointer[office.Lease]
	resume context.CancelFunc // ends the handover for which writes are paused; the loop's
}

// AskLedger calls the engine's LedgerEnd. It may have to wait for locks of its own.
func (e *engine) AskLedger(term memberstate.Term) {
	e.beside(protocol.TellLedgerEnd, func(r *protocol.Request) {
		r.Err = fmt.Errorf("elector: group %q: LedgerEnd: %w", e.group.Name(), errExited)
		r.Ledger, r.Err = e.ledgerEnd(term), nil
		if x := e.more.Load(); x != nil {
			r.Term = memberstate.Term(x.announced.Load())
		}
	})
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
		l.Watch(e.Host().elapsed, func() { e.lapse(l) })
	default:
		l.Extend(until, e.Host().now)
	}
}

// lapse ends the office of a lease that has run out, also when the loop is held up.
func (e *engine) lapse(l *office.Lease) {
	if o := e.more.Load().office.Load(); o != nil && o.Term == l.Term {
		o.Close()
	}
	r := (*Elector)(e).about(protocol.TellLeaseOver)
	r.Term = l.Term
	e.Host().request(r)
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
	e.beside(protocol.TellLeadReturned, func(r *protocol.Request) {
		r.Term, r.Err = term, errExited
		defer x.office.Store(nil)
		_, _ = o.Serve(func(ctx context.Context, term memberstate.Term) error {
			defer func() { r.Early = ctx.Err() == nil }()
			r.Err = x.lead(ctx, term)
			return r.Err
		})
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
	e.Host().node.LeadReturned(&e.group, term, false, nil)
}

// Pause calls the engine's Pause.
func (e *engine) Pause(term memberstate.Term, number uint32) {
	x := e.more.Load()
	if x == nil || x.pause == nil {
		e.Host().node.PauseEnded(&e.group, number, nil)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.resume = cancel
	e.beside(protocol.TellPauseEnded, func(r *protocol.Request) {
		r.Number, r.Err = number, errExited
		r.Err = x.pause(ctx, term)
	})
}

// Resume ends the context of Pause.
func (e *engine) Resume() {
	if x := e.more.Load(); x != nil && x.resume != nil {
		x.resume()
		x.resume = nil
	}
}

// beside does work for the group in a goroutine of its own, and then tells the node what has
// come of it: also if work ends its goroutine (runtime.Goexit) instead of returning.
func (e *engine) beside(tells protocol.RequestKind, work func(r *protocol.Request)) {
	go func() {
		r := (*Elector)(e).about(tells)
		defer func() { e.Host().request(r) }()
		work(&r)
	}()
}

// about is a request that is about the group.
func (e *Elector) about(kind protocol.RequestKind) protocol.Request {
	return protocol.Request{Subject: protocol.Subject{Kind: kind, Group: &e.group}}
}
