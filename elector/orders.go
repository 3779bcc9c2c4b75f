// Orders to hand over. Each is somebody's, and its context speaks for it alone.

package elector

import (
	"context"
	"fmt"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
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
	seat := e.group.Members.Seat(to)
	if s := e.Status(); to == s.Self && s.Role == memberstate.Leader {
		return nil
	}
	if to != "" && (seat == e.group.Rules.Self || !e.group.Rules.Voters.Has(seat)) {
		return fmt.Errorf("%w: %q is not another voter of group %q", ErrTransferFailed, to, e.group.Name())
	}
	term, err := e.command(ctx, &protocol.Order{To: seat})
	if err != nil {
		return err
	}
	return e.awaitSuccessor(ctx, term, to)
}

// awaitSuccessor waits until a later term than this has a leader.
func (e *Elector) awaitSuccessor(ctx context.Context, term memberstate.Term, to string) error {
	for s := range e.Watch(ctx) {
		switch {
		case s.Stopped:
			return e.idle()
		case s.Term == term || s.Leader == "":
		case to != "" && s.Leader != to, s.Leader == s.Self:
			return fmt.Errorf("%w: %q leads term %d", ErrTransferFailed, s.Leader, s.Term)
		default:
			return nil
		}
	}
	return ctx.Err()
}

// Resign gives the leadership up: to the best voter if one takes over in time,
// and without more if none does. It returns nil when this member leads no more.
//
// If the context ends, this order is withdrawn and the context's error returned:
// unless someone else wants it to hand over, or a quorum has voted for another by
// then, this member goes on leading.
func (e *Elector) Resign(ctx context.Context) error {
	_, err := e.command(ctx, &protocol.Order{Resign: true})
	return err
}

// command gives an order to a leader and waits for its outcome: nil if the member
// leads no more, and then the term that it led. What is withdrawn because the
// context has ended has its outcome from the loop, too, so that an order that was
// carried out is not reported as withdrawn.
func (e *Elector) command(ctx context.Context, o *protocol.Order) (memberstate.Term, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s := e.sight.Load(); s.revision == 0 || s.Stopped {
		return 0, e.idle()
	}
	type outcome struct {
		term memberstate.Term
		err  error
	}
	settled := make(chan outcome, 1)
	o.Settled = func(term memberstate.Term, err error) { settled <- outcome{term, err} }
	r := e.about(protocol.AskOrder)
	r.Order = o
	if !e.Host().request(r) {
		return 0, e.idle()
	}
	var was outcome
	select {
	case was = <-settled:
	case <-ctx.Done():
		r.Kind, r.Err = protocol.AskWithdraw, ctx.Err()
		e.Host().request(r)
		was = <-settled
	}
	return was.term, was.err
}
