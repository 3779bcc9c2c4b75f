// The effects of a protocol.Keeper. The keeper's lock is held meanwhile, so nothing here waits.

package lease

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/memberstate"
)

// effects carry out the decisions of a keeper's value.
type effects struct{ *Keeper }

var _ protocol.Effects = effects{}

// Call calls the store in a goroutine of its own, because the driver may hang.
func (fx effects) Call(c *protocol.Call) {
	ctx := fx.listening
	if c.Kind != protocol.Listen {
		ctx = context.Background()
	}
	fx.working.Go(func() {
		if c.Timeout > 0 {
			within, cancel := context.WithTimeout(ctx, c.Timeout)
			defer cancel()
			ctx = within
		}
		fx.step(fx.call(ctx, c))
	})
}

// call makes a call and returns its answer.
func (k *Keeper) call(ctx context.Context, c *protocol.Call) *protocol.Answer {
	a, store := &protocol.Answer{Number: c.Number}, k.config.Store
	switch c.Kind {
	case protocol.Read:
		a.Records, a.Err = store.Read(ctx, c.Names)
	case protocol.Acquire:
		a.Won, a.Err = store.Acquire(ctx, c.Claim)
	case protocol.Renew:
		a.Kept, a.Err = store.Renew(ctx, k.id, c.Held)
	case protocol.Release:
		a.Err = store.Release(ctx, k.id, c.Held[0])
	case protocol.Wake:
		a.Err = k.waker.Wake(ctx, c.Names[0])
	case protocol.Listen:
		a.Err = k.waker.Listen(ctx, func(name string) { k.step(protocol.Woken{Name: name}) })
		if ctx.Err() != nil {
			a.Err = nil // the keeper has ended it
		}
	}
	return a
}

// Hold sets the end of the lease. If a user has already seen the lease expired, before the
// value extended it, the lease stays expired.
func (fx effects) Hold(name string, term memberstate.Term, until time.Duration) {
	e := fx.joined[name]
	l := e.held
	if l == nil || l.Term != term {
		e.held = office.NewLease(term, until)
		return
	}
	now := fx.now()
	l.Extend(until, now)
	if _, held := l.Holds(now); !held {
		fx.lapses = append(fx.lapses, protocol.Lapse{Name: name, Term: term})
	}
}

// Publish updates the elector's status, and with it the lease that readers see.
func (fx effects) Publish(name string, v protocol.View) {
	fx.joined[name].show(func(s *elector.Status) {
		s.Role, s.Term, s.Leader, s.Stopped = v.Role, v.Term, v.Leader, v.Stopped
		s.LastLeader, s.Departure, s.Inability = v.Last, v.Departure, v.Inability
	})
}

// Withdraw ends the context of Lead.
func (fx effects) Withdraw(name string, _ memberstate.Term) {
	e := fx.joined[name]
	e.held = nil
	e.tenure.Close()
}

// Lead calls Lead.
func (fx effects) Lead(name string, term memberstate.Term) {
	e, o := fx.joined[name], office.Open(term)
	e.tenure, e.vacated = o, &vacancy{over: make(chan struct{})}
	e.serve(o)
}

// Vouched takes the service's word that Alive has brought.
func (fx effects) Vouched(name string) bool {
	e := fx.joined[name]
	return e.alive.Load() && e.alive.Swap(false)
}

// AskHealth calls the service's Healthy, if there is one.
func (fx effects) AskHealth(name string) bool {
	e := fx.joined[name]
	if e.config.Healthy == nil {
		return false
	}
	e.askHealth()
	return true
}

// AskStalled calls the service's Stalled, if there is one. Its context ends when the answer is overdue.
func (fx effects) AskStalled(within time.Duration) bool {
	stalled := fx.config.Stalled
	if stalled == nil {
		return false
	}
	var names []string
	fx.calls(fx.working, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		names = stalled(ctx)
		return nil
	}, func(error) protocol.Input { return protocol.Stalled{Names: names} })
	return true
}

// Vacate ends the wait of the callers of Resign.
func (fx effects) Vacate(name string, _ memberstate.Term, err error) {
	e := fx.joined[name]
	e.vacated.err = err
	close(e.vacated.over)
	e.tenure, e.vacated = nil, nil
}

// End ends the wait of Run.
func (fx effects) End(name string) { close(fx.joined[name].ended) }

// Draw draws from a uniform distribution.
func (effects) Draw(least, most time.Duration) time.Duration { return least + rand.N(1+most-least) }
