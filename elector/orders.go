// Orders to hand over. Each is somebody's, and its context speaks for it alone.

package elector

import (
	"context"

	"github.com/hustings/hustings/elector/protocol"
)

// TransferLeadership hands the leadership to a voter, or to the best one if to
// is empty. Writes are paused in between, through GroupConfig.Pause. It returns nil
// when this member has given its office up to the target and knows who leads
// now. If the target does not take over in time, this member goes on leading;
// unless a quorum has voted for the target by then, which failed at that very
// moment, and the group elects. A *TransferError says what stood in the way of each
// voter. A leader that is to hand over to itself leads already, which is no error.
//
// If the context ends, this order is withdrawn, wherever it has got to, and the
// context's error returned. A handover that someone else wants as well, as by
// Resign or Stop, goes on.
func (e *Elector) TransferLeadership(ctx context.Context, to string) error {
	return e.command(ctx, &protocol.Order{To: to})
}

// Resign gives the leadership up: to the best voter if one takes over in time,
// and without more if none does. It returns nil when this member leads no more.
//
// If the context ends, this order is withdrawn and the context's error returned:
// unless someone else wants it to hand over, or a quorum has voted for another by
// then, this member goes on leading.
func (e *Elector) Resign(ctx context.Context) error {
	return e.command(ctx, &protocol.Order{Resign: true})
}

// command gives an order and waits for its outcome. What is withdrawn because the context has
// ended has its outcome from the loop, too, so that an order that was carried out is not
// reported as withdrawn.
func (e *Elector) command(ctx context.Context, o *protocol.Order) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s := e.sight.Load(); s.revision == 0 || s.Stopped {
		return e.idle()
	}
	settled := make(chan error, 1)
	o.Settled = func(err error) { settled <- err }
	r := e.about(protocol.AskOrder)
	r.Order = o
	if !e.Host().request(r) {
		return e.idle()
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
