// How a member begins and ends: it joins, is started, is told to stop or has to, what works
// for it returns, and then those who wait for it are told.

package elector

import (
	"context"

	"github.com/hustings/hustings/elector/protocol"
)

// life is how far a member has come. It is guarded by the host's mu.
type life uint8

const (
	joined   life = iota // Start has not been called
	starting             // Start is under way
	taking               // it takes part, or has failed and what works for it has not returned
	stopping             // it was told to stop after it was started
	over                 // nothing works for it any more
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
		if e.life == over {
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
	if x := e.more.Load(); e.life == over && x != nil && x.ending != nil {
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
		e.Host().request(func() { e.Host().node.End(&e.group) })
		<-e.Done()
	}
	e.Host().awaitLoop()
	return e.Err()
}

// retire begins to stop a member that was started, or makes sure that it never is.
func (e *Elector) retire() (started bool) {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch e.life {
	case joined:
		h.conclude(e)
		return false
	case starting, taking:
		e.life = stopping
		h.requestLocked(func() { h.node.Stop(&e.group) })
	case stopping, over:
	}
	return true
}

// notRunning says why a member takes no orders.
func (e *Elector) notRunning() error {
	e.Host().mu.Lock()
	defer e.Host().mu.Unlock()
	name, life := e.group.Name(), e.life
	switch {
	case life >= stopping || e.sight.Load().Stopped:
		return protocol.Say(ErrStopped, "group %q has stopped", name)
	case life == joined:
		return protocol.Say(ErrStopped, "group %q has not been started: Run or Start comes first", name)
	}
	return protocol.Say(ErrStopped, "group %q is still being started", name)
}

// Ended is the node's word that the group has ended there.
func (e *engine) Ended(err error) {
	if err != nil {
		e.Host().log.Error("stopped", "group", e.group.Name(), "term", uint64(e.sight.Load().Term), "error", err)
		e.Host().mu.Lock()
		(*Elector)(e).awaited().err = err
		e.Host().mu.Unlock()
	}
	e.ended = true
	e.bury()
}

// bury concludes a member that has ended, when the last goroutine has.
func (e *engine) bury() {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.ended && e.outstanding == 0 && e.life != over {
		h.live--
		h.conclude((*Elector)(e))
	}
}

// conclude forgets a member that has ended, and tells who waits. The host's mu is
// held.
func (h *Host) conclude(e *Elector) {
	h.forget(e)
	e.life = over
	if x := e.more.Load(); x != nil && x.ending != nil {
		close(x.ending.over)
	}
}
