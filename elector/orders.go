// Orders to hand over. Each is somebody's, and its context speaks for it alone.
//
// The machine has one handover at a time, and several orders may want it: a
// resignation joins a transfer. So the host keeps the orders that stand, and holds
// the machine against them after every step: a handover that no order wants any
// more is given up, and a member that no order wants to resign remains if its
// handover fails. To withdraw an order is to strike it off that list, at whatever
// moment that is; no other order notices.

package elector

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// order is one command to hand over, until its outcome is known. It belongs to the
// loop, but for the channel.
type order struct {
	resign    bool // step down even if the handover fails
	began     bool // the machine has been given it
	withdrawn bool
	term      memberstate.Term // that it is to end; may be read after the outcome
	outcome   chan error       // gets exactly one
}

func newOrder(resign bool) *order { return &order{resign: resign, outcome: make(chan error, 1)} }

// TransferLeadership hands the leadership to a voter, or to the best one if to
// is empty. Writes are paused in between, through Config.Pause. It returns nil
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
	g := &e.group
	seat := g.members.Seat(to)
	if s := e.Status(); to == s.Self && s.Role == memberstate.Leader {
		return nil
	}
	if to != "" && !g.rules.others().Has(seat) {
		return fmt.Errorf("%w: %q is not another voter of group %q", ErrTransferFailed, to, g.name)
	}
	term, err := g.command(ctx, &Input{Kind: Transfer, Seat: seat})
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
			return e.group.notRunning()
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
	_, err := e.group.command(ctx, &Input{Kind: Resign})
	return err
}

// command gives an order to a leader and waits for its outcome: nil if the member
// leads no more, and then the term that it led. What is withdrawn because the
// context has ended has its outcome from the loop, too, so that an order that was
// carried out is not reported as withdrawn.
func (g *group) command(ctx context.Context, in *Input) (memberstate.Term, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s := g.sight.Load(); s.revision == 0 || s.stopped {
		return 0, g.notRunning()
	}
	h, o := g.host, newOrder(in.Kind == Resign)
	if !h.request(func() { h.obey(g, o, in) }) {
		return 0, g.notRunning()
	}
	select {
	case err := <-o.outcome:
		return o.term, err
	case <-ctx.Done():
		h.request(func() { h.withdraw(g, o, ctx.Err()) })
		err := <-o.outcome
		return o.term, err
	}
}

// obey takes an order on, and has the machine begin with it when it is its turn.
func (h *Host) obey(g *group, o *order, in *Input) {
	m := &g.machine
	switch {
	case !g.running:
		o.outcome <- g.notRunning()
	case m.Role != memberstate.Leader:
		o.outcome <- ErrNotLeader
	case !o.resign && (m.handover != NoHandover || len(g.extras().orders) > 0):
		o.outcome <- ErrTransferInProgress
	default:
		o.term = m.Term
		x := g.extras()
		x.orders = append(x.orders, o)
		h.giveFor(g, in, purpose{order: o})
	}
}

// resign has a leader resign, of the host's own accord: nobody withdraws that.
func (h *Host) resign(g *group) { h.obey(g, newOrder(true), &Input{Kind: Resign}) }

// begun notes that the machine has been given an order. It may lead another term by now,
// or none, and then the order was for the one that it led when it took it on.
func (o *order) begun(m *Machine) {
	o.began = true
	if m.Role == memberstate.Leader {
		o.term = m.Term
	}
}

// withdraw strikes an order off, if its outcome is still open.
func (h *Host) withdraw(g *group, o *order, why error) {
	x := g.extra.Load()
	if x == nil || !slices.Contains(x.orders, o) {
		return
	}
	x.orders = slices.DeleteFunc(x.orders, func(other *order) bool { return other == o })
	x.queue = slices.DeleteFunc(x.queue, func(p pending) bool { return p.order == o })
	o.withdrawn = true
	o.outcome <- why
	h.attend(g)
}

// attendHandover holds the handover against the orders that stand, and pauses the
// engine's writes for it when the target is ready.
func (h *Host) attendHandover(g *group) {
	m, x := &g.machine, g.extras()
	switch {
	case m.handover == NoHandover:
		h.settleOrders(g)
	case m.resigning && !slices.ContainsFunc(x.orders, func(o *order) bool { return o.resign }):
		h.give(g, &Input{Kind: Remain}, nil)
	case m.reason != toPreferred && len(x.orders) == 0:
		x.attempt = nil // nobody asks what became of it
		h.give(g, &Input{Kind: Abort}, nil)
	case m.handover == Pausing && x.pausing == nil:
		h.pauseWrites(g)
	}
}

// settleOrders has the engine's writes go on when no handover is on, and tells what
// became of the orders that have been carried out, or could not be.
func (h *Host) settleOrders(g *group) {
	m, x := &g.machine, g.extras()
	if x.pausing != nil {
		x.pausing.cancel()
		x.pausing = nil
	}
	failed := h.whyNotHandedOver(g)
	x.orders = slices.DeleteFunc(x.orders, func(o *order) bool {
		switch {
		case !o.began:
		case m.Role == memberstate.Leader && m.Term == o.term:
			o.outcome <- cmp.Or(failed, ErrTransferFailed)
		default:
			o.outcome <- nil
		}
		return o.began
	})
}

// pauseJob is a handover for which the engine pauses its writes.
type pauseJob struct{ cancel context.CancelFunc }

func (h *Host) pauseWrites(g *group) {
	ctx, cancel := context.WithCancel(context.Background())
	job, x := &pauseJob{cancel}, g.extras()
	x.pausing = job
	if x.pause == nil {
		h.give(g, &Input{Kind: Paused}, nil)
		return
	}
	term, err := g.machine.Term, errExited
	h.beside(g, func() { err = x.pause(ctx, term) }, func() {
		switch {
		case x.pausing != job: // over already
		case err != nil:
			h.log.Warn("writes could not be paused", "group", g.name, "term", uint64(term), "error", err)
			x.attempt.refused(err)
			h.give(g, &Input{Kind: Abort}, nil)
		default:
			h.give(g, &Input{Kind: Paused}, nil)
		}
	})
}
