// How a member ends: Stop or a failure begins the end, Lead and the other callbacks return, and
// then the callers of Stop, Run and Done continue.

package elector

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hustings/hustings/elector/protocol"
)

// completion is for callers that wait for a member to end, or ask why it has ended.
type completion struct {
	ended chan struct{} // closed when the member has ended
	err   error
}

// ensureCompletion returns the member's completion and makes it at the first call. The host's
// mu is held.
func (e *Elector) ensureCompletion() *completion {
	x := e.ensureExtras()
	if x.completion == nil {
		x.completion = &completion{ended: make(chan struct{})}
		if e.Host().intake.IsOver(&e.group) {
			close(x.completion.ended)
		}
	}
	return x.completion
}

// Done is closed when the member has ended; Err then says why.
func (e *Elector) Done() <-chan struct{} {
	e.Host().mu.Lock()
	defer e.Host().mu.Unlock()
	return e.ensureCompletion().ended
}

// Err is the error that stopped the member. It is nil if Stop did, or if the member has not
// stopped.
func (e *Elector) Err() error {
	e.Host().mu.Lock()
	defer e.Host().mu.Unlock()
	if x := e.extras.Load(); x != nil && x.completion != nil {
		return x.completion.err
	}
	return nil
}

// Stop ends the member's part in the group and returns once Lead and every goroutine
// have ended. A leader resigns first, so that the others need not wait until its
// silence is detected. If the context ends first, the member stops without a handover. If the store has not answered a
// detection time later, Stop returns ErrStoreSilent; the member ends when the store answers.
func (e *Elector) Stop(ctx context.Context) error {
	began := time.Duration(0)
	return e.stop(ctx, &began)
}

// stop is Stop for one of several members. Began is when it was noticed that the context has ended; 0: it was not.
func (e *Elector) stop(ctx context.Context, began *time.Duration) error {
	e.beginStop()
	select {
	case <-e.Done():
	case <-ctx.Done():
		e.Host().request(e.newRequest(protocol.AskEnd))
		*began = cmp.Or(*began, max(e.Host().elapsed(), 1))
	}
	return e.awaitEnd(*began)
}

// awaitEnd waits until the member has ended, and returns what stopped it. It does not wait for a store that is silent.
func (e *Elector) awaitEnd(began time.Duration) error {
	if err := e.Host().await(e.Done(), nil, began); err != nil {
		return fmt.Errorf("elector: group %q has not ended: %w", e.group.Name(), err)
	}
	e.Host().awaitLoop()
	return e.Err()
}

// beginStop begins to stop a member that was started. A member that was not can no longer be.
func (e *Elector) beginStop() {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	if begun := h.intake.Stop(&e.group); !begun {
		e.finish(nil)
	}
	h.wakeLoop()
}

// whyNotRunning is the error of an order to a member that does not run.
func (e *Elector) whyNotRunning() error {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.intake.WhyIdle(&e.group, e.view.Load().Stopped)
}

// Ended is called by the node when none of the group's callbacks and goroutines runs any more.
func (e *engine) Ended(err error) {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	(*Elector)(e).finish(err)
}

// finish removes a member from its host and closes Done. The host's mu is held.
func (e *Elector) finish(err error) {
	h := e.Host()
	if err != nil {
		e.ensureCompletion().err = err
	}
	h.intake.Over(&e.group)
	h.electorates.Leave(e.group.Electorate)
	if x := e.extras.Load(); x != nil && x.completion != nil {
		close(x.completion.ended)
	}
}
