// How a member begins and ends: it joins, is started, is told to stop or has to, what works
// for it returns, and then those who wait for it are told.

package elector

import (
	"context"

	"github.com/hustings/hustings/elector/protocol"
)

// ending is for those who wait for a member to end, or ask why it has.
type ending struct {
	over chan struct{} // closed when it has ended
	err  error
}

// awaited is the member's ending, made when it is first asked for. The host's mu
// is held.
func (e *Elector) awaited() *ending {
	x := e.needs()
	if x.ending == nil {
		x.ending = &ending{over: make(chan struct{})}
		if e.Host().intake.IsOver(&e.group) {
			close(x.ending.over)
		}
	}
	return x.ending
}

// Done is closed when the member has ended; Err then says why.
func (e *Elector) Done() <-chan struct{} {
	e.Host().mu.Lock()
	defer e.Host().mu.Unlock()
	return e.awaited().over
}

// Err is the error for which the member had to stop, nil if it was told to or
// has not stopped.
func (e *Elector) Err() error {
	e.Host().mu.Lock()
	defer e.Host().mu.Unlock()
	if x := e.more.Load(); x != nil && x.ending != nil {
		return x.ending.err
	}
	return nil
}

// Stop takes the member out of the group: it resigns if it leads, so that the
// others need not wait for its silence, and returns once Lead and every
// goroutine have ended. If the context ends first, the member stops without
// having handed over.
func (e *Elector) Stop(ctx context.Context) error {
	if !e.retire() {
		return nil
	}
	select {
	case <-e.Done():
	case <-ctx.Done():
		e.Host().request(e.about(protocol.AskEnd))
		<-e.Done()
	}
	e.Host().awaitLoop()
	return e.Err()
}

// retire begins to stop a member that was started, or makes sure that it never is.
func (e *Elector) retire() (begun bool) {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	if begun = h.intake.Stop(&e.group); !begun {
		e.conclude(nil)
	}
	h.rouse()
	return begun
}

// idle says why a member takes no orders.
func (e *Elector) idle() error {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.intake.WhyIdle(&e.group, e.sight.Load().Stopped)
}

// Ended is the node's word that nothing works for the group any more.
func (e *engine) Ended(err error) {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	(*Elector)(e).conclude(err)
}

// conclude forgets a member for which nothing works any more, and tells those who wait. The
// host's mu is held.
func (e *Elector) conclude(err error) {
	h := e.Host()
	if err != nil {
		e.awaited().err = err
	}
	h.intake.Over(&e.group)
	h.unshare(e.electorate())
	if x := e.more.Load(); x != nil && x.ending != nil {
		close(x.ending.over)
	}
}
