// How a member ends: it is stopped or fails, what works for it returns, and then
// those who wait for it are told.

package elector

import (
	"context"

	"github.com/hustings/hustings/memberstate"
)

// ending is for those who wait for a group to end, or ask why it has.
type ending struct {
	over chan struct{} // closed when it has ended
	err  error
}

// awaited is the group's ending, made when it is first asked for. The host's mu
// is held.
func (g *group) awaited() *ending {
	if g.ending == nil {
		g.ending = &ending{over: make(chan struct{})}
		if g.buried {
			close(g.ending.over)
		}
	}
	return g.ending
}

// Done is closed when the member has ended; Err then says why.
func (e *Elector) Done() <-chan struct{} { return e.group.done() }

func (g *group) done() <-chan struct{} {
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	return g.awaited().over
}

// Err is the error for which the member had to stop, nil if it was told to or
// has not stopped.
func (e *Elector) Err() error { return e.group.err() }

func (g *group) err() error {
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	if !g.buried || g.ending == nil {
		return nil
	}
	return g.ending.err
}

// Stop takes the member out of the group: it resigns if it leads, so that the
// others need not wait for its silence, and returns once Lead and every
// goroutine have ended. If the context ends first, the member stops without
// having handed over.
func (e *Elector) Stop(ctx context.Context) error {
	g, h := &e.group, e.group.host
	if !g.retire() {
		return nil
	}
	select {
	case <-g.done():
	case <-ctx.Done():
		h.request(func() { h.end(g, nil) })
		<-g.done()
	}
	h.awaitLoop()
	return g.err()
}

// retire begins to stop a member that was started, or makes sure that it never is.
func (g *group) retire() (started bool) {
	h := g.host
	h.mu.Lock()
	started, over := g.started, g.buried
	g.started, g.retired = true, true
	if !started {
		h.conclude(g)
	}
	h.mu.Unlock()
	if started && !over {
		h.request(func() { h.resignOrEnd(g) })
	}
	return started
}

// isRetired says whether the group has been told to end. Whoever told it while it was
// being started had no loop to tell.
func (g *group) isRetired() bool {
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	return g.retired
}

// notRunning says why a group takes no orders.
func (g *group) notRunning() error {
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	switch {
	case g.retired || g.buried || g.sight.Load().stopped:
		return say(ErrStopped, "group %q has stopped", g.name)
	case !g.started:
		return say(ErrStopped, "group %q has not been started: Run or Start comes first", g.name)
	}
	return say(ErrStopped, "group %q is still being started", g.name)
}

// resignOrEnd has a member that is to stop hand over first, if it leads.
func (h *Host) resignOrEnd(g *group) {
	switch {
	case g.retiring:
	case g.running && g.machine.Role == memberstate.Leader:
		g.retiring = true
		h.resign(g)
	default:
		h.end(g, nil)
	}
}

// fail stops a member that must not go on.
func (h *Host) fail(g *group, err error) {
	h.log.Error("stopped", "group", g.name, "term", uint64(g.status().Term), "error", err)
	h.end(g, err)
}

// end takes the group out of everything. It is over once nothing works for it.
func (h *Host) end(g *group, err error) {
	if !g.running {
		return // it has ended, or will as soon as it has been started
	}
	g.running = false
	if err != nil {
		h.mu.Lock()
		g.awaited().err = err
		h.mu.Unlock()
	}
	g.endOffice()
	h.alarms.remove(g)
	x := g.extras()
	if x.pausing != nil {
		x.pausing.cancel()
	}
	g.publishEnd()
	for _, o := range x.orders {
		o.outcome <- g.notRunning()
	}
	x.orders = nil
	queue := x.queue
	x.queue, x.messages = nil, 0
	for i := range queue {
		if queue[i].then != nil {
			queue[i].then()
		}
	}
	g.tidy()
	h.bury(g)
}

// bury concludes a group that has ended, when the last goroutine has.
func (h *Host) bury(g *group) {
	if !g.running && g.outstanding == 0 && !g.buried {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.live--
		h.conclude(g)
	}
}

// conclude forgets a group that has ended, and tells who waits. The host's mu is
// held.
func (h *Host) conclude(g *group) {
	h.forget(g)
	g.buried = true
	if g.ending != nil {
		close(g.ending.over)
	}
}
