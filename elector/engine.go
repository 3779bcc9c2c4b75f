// The elector's side of protocol.Engine: it calls the engine's functions, and runs the timer
// that ends a lease. Both run in goroutines of their own, never in the loop.

package elector

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
)

// engine is an Elector seen as a protocol.Engine. The loop calls its methods.
type engine Elector

// callbacks holds the functions of the embedding engine, and those of its calls that the loop
// may have to end.
type callbacks struct {
	lead     func(ctx context.Context, term memberstate.Term) error // nil: there is none
	pause    func(ctx context.Context, term memberstate.Term) error // nil: there is none
	handlers []RoleHandler

	office  atomic.Pointer[office.Office]
	lease   atomic.Pointer[office.Lease]
	healthy func(ctx context.Context) error // nil: there is none
	alive   atomic.Bool                     // the engine has called Alive since the loop last looked
	resume  context.CancelFunc              // ends the handover for which writes are paused; owned by the loop
}

// AskLedger has the engine's LedgerEnd called, which may wait for locks of the engine.
func (e *engine) AskLedger(term memberstate.Term) {
	e.Host().ledgers.ask(ledgerCall{(*Elector)(e), term})
}

// Hold begins a lease of the group's own, extends it, or ends it (zero). It does not extend a lease that Holds
// has reported as run out.
func (e *engine) Hold(until time.Duration) {
	x := e.extras.Load() // not nil, because the group has leases
	switch l := x.lease.Load(); {
	case until == 0:
		if l != nil {
			x.lease.Store(nil)
			l.End()
		}
	case l == nil:
		l = office.NewLease(e.group.State().Term, until)
		l.Watch(e.Host().elapsed, func() { e.lapse(l) })
		x.lease.Store(l)
	default:
		l.Leave()
		l.Extend(until, e.Host().now)
	}
}

// Share has the group's lease last as long as one that groups of the host share. An engine that has no Lead
// has nothing to end when that runs out.
func (e *engine) Share(number uint32) {
	x := e.extras.Load()
	l, shared := x.lease.Load(), e.Host().shared[number]
	if x.lead == nil {
		l.Share(shared, nil)
		return
	}
	l.Share(shared, func() { e.close(l.Term) })
}

// close ends the office of a term, even while the loop is blocked.
func (e *engine) close(term memberstate.Term) {
	if o := e.extras.Load().office.Load(); o != nil && o.Term == term {
		o.Close()
	}
}

// lapse ends the office of a lease that has run out.
func (e *engine) lapse(l *office.Lease) {
	e.close(l.Term)
	r := (*Elector)(e).newRequest(protocol.TellLeaseOver)
	r.Term = l.Term
	e.Host().request(r)
}

// Lead calls the engine's Lead. If that ends its goroutine instead of returning, it counts as
// an early return.
func (e *engine) Lead(term memberstate.Term) {
	x := e.extras.Load()
	if x == nil || x.lead == nil {
		return
	}
	o := office.Open(term)
	x.office.Store(o)
	if l := x.lease.Load(); l != nil {
		if _, held := l.Holds(e.Host().elapsed()); !held {
			o.Close() // lapse may have run before there was an office to close
		}
	}
	e.spawn(protocol.TellLeadReturned, func(r *protocol.Request) {
		r.Term, r.Err = term, errExited
		defer x.office.Store(nil)
		_, _ = o.Serve(func(ctx context.Context, term memberstate.Term) error {
			defer func() { r.Early = ctx.Err() == nil }()
			r.Err = x.lead(ctx, term)
			return r.Err
		})
	})
}

// EndLead ends the context of Lead. If the engine has no Lead, it reports at once that Lead has
// returned.
func (e *engine) EndLead(term memberstate.Term) {
	if x := e.extras.Load(); x != nil && x.lead != nil {
		if o := x.office.Load(); o != nil {
			o.Close()
		}
		return
	}
	e.Host().node.LeadReturned(&e.group, term, false, nil)
}

func (e *engine) Pause(term memberstate.Term, number uint32) {
	x := e.extras.Load()
	if x == nil || x.pause == nil {
		e.Host().node.PauseEnded(&e.group, number, nil)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.resume = cancel
	e.spawn(protocol.TellPauseEnded, func(r *protocol.Request) {
		r.Number, r.Err = number, errExited
		r.Err = x.pause(ctx, term)
	})
}

// Resume ends the context of Pause.
func (e *engine) Resume() {
	if x := e.extras.Load(); x != nil && x.resume != nil {
		x.resume()
	}
}

// Vouched takes the engine's word that Alive has brought.
func (e *engine) Vouched() bool {
	x := e.extras.Load()
	return x != nil && x.alive.Load() && x.alive.Swap(false)
}

// AskHealth calls the engine's Healthy. Its context ends after Vouch, because a later answer counts
// for nothing.
func (e *engine) AskHealth() bool {
	x := e.extras.Load()
	if x == nil || x.healthy == nil {
		return false
	}
	e.spawn(protocol.TellHealth, func(r *protocol.Request) {
		r.Err = errExited
		ctx, cancel := context.WithTimeout(context.Background(), (*Elector)(e).rules().Vouch)
		defer cancel()
		r.Err = x.healthy(ctx)
	})
	return true
}

// spawn runs work in a goroutine of its own, and then sends the node the request that work has
// filled in, even if work ends its goroutine (runtime.Goexit) instead of returning.
func (e *engine) spawn(kind protocol.RequestKind, work func(r *protocol.Request)) {
	go func() {
		r := (*Elector)(e).newRequest(kind)
		defer func() { e.Host().request(r) }()
		work(&r)
	}()
}

// newRequest makes a request about the group.
func (e *Elector) newRequest(kind protocol.RequestKind) protocol.Request {
	return protocol.Request{Subject: protocol.Subject{Kind: kind, Group: &e.group}}
}
