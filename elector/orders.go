// Orders to hand over. Each belongs to one caller, whose context can withdraw that order only.

package elector

import (
	"context"

	"github.com/hustings/hustings/elector/protocol"
)

// TransferLeadership hands the leadership to a voter, or to the best one if to
// is empty. Writes are paused meanwhile, through GroupConfig.Pause. It returns nil
// when this member has given up its office to the target and knows the new leader.
// If the target does not take over in time, this member goes on leading, unless a
// quorum had voted for the target before it failed; then the group elects. A
// *TransferError says why each voter could not take over. A transfer to the leader
// itself does nothing and returns nil.
//
// If the context ends, the order is withdrawn, even if it is being carried out, and
// the context's error returned. The handover goes on if another caller wants it,
// through Resign or Stop for example.
func (e *Elector) TransferLeadership(ctx context.Context, to string) error {
	return e.command(ctx, &protocol.Order{To: to})
}

// Resign gives up the leadership: it hands over to the best voter, and steps down even
// if none takes over in time. It returns nil when this member no longer leads.
//
// If the context ends, the order is withdrawn and the context's error returned. This
// member then goes on leading, unless another caller wants the handover, too, or a
// quorum has already voted for another member.
func (e *Elector) Resign(ctx context.Context) error {
	return e.command(ctx, &protocol.Order{Resign: true})
}

// command gives an order and waits for its outcome. When the context ends, the loop still
// decides the outcome, so that an order that was carried out is not reported as withdrawn.
func (e *Elector) command(ctx context.Context, o *protocol.Order) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !e.view.Load().begun() {
		return e.whyNotRunning()
	}
	settled := make(chan error, 1)
	o.Settled = func(err error) { settled <- err }
	r := e.newRequest(protocol.AskOrder)
	r.Order = o
	if !e.Host().request(r) {
		return e.whyNotRunning()
	}
	select {
	case err := <-settled:
		return err
	case <-ctx.Done():
		r.Kind, r.Err = protocol.AskWithdraw, ctx.Err()
		e.Host().request(r)
		return <-settled
	}
}
