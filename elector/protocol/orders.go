// Orders to hand over. Each is somebody's, and may be withdrawn by whoever gave it without
// any other noticing.

package protocol

import (
	"cmp"
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// Order is one command to hand over, until its outcome is known.
type Order struct {
	// Resign says to step down even if nobody takes over. Otherwise the leadership goes to
	// the member at To, or to the best voter if that is Nobody.
	Resign bool
	To     memberstate.Seat
	// Settled is told the outcome, once: nil if the member leads no more, and then term is
	// the one that it led. Whoever gave the order does not look at it again: the step that
	// was to begin with it ends after a withdrawal, and notes that here.
	Settled func(term memberstate.Term, err error)

	term  memberstate.Term // that the member leads, which the order is to end
	began bool             // the machine has been given it
}

func (o *Order) settle(err error) { o.Settled(o.term, err) }

func (o *Order) input() *Input {
	if o.Resign {
		return &Input{Kind: Resign}
	}
	return &Input{Kind: Transfer, Seat: o.To}
}

// begun notes that the machine has been given an order. It may lead another term by now, or
// none, and then the order was for the one that it led when it took it on.
func (o *Order) begun(g *Group) {
	o.began = true
	if g.Role == memberstate.Leader {
		o.term = g.Term
	}
}

// Obey takes an order on, and has the machine begin with it when it is its turn.
func (n *Node) Obey(g *Group, o *Order) {
	switch {
	case !g.running:
		o.settle(Say(ErrStopped, "group %q has stopped", g.name))
	case g.Role != memberstate.Leader:
		o.settle(ErrNotLeader)
	case !o.Resign && (g.Handover().Phase != NoHandover || g.more != nil && len(g.more.orders) > 0):
		o.settle(ErrTransferInProgress)
	default:
		o.term = g.Term
		x := n.extras(g)
		x.orders = append(x.orders, o)
		g.countOrders()
		n.give(g, o.input(), purpose{order: o})
	}
}

// Withdraw strikes an order off, if its outcome is still open.
func (n *Node) Withdraw(g *Group, o *Order, why error) {
	x := g.more
	if x == nil || !slices.Contains(x.orders, o) {
		return
	}
	x.orders = slices.DeleteFunc(x.orders, func(other *Order) bool { return other == o })
	x.queue = append(x.queue[:x.first], slices.DeleteFunc(x.queue[x.first:], func(p waiting) bool { return p.order == o })...)
	if x.busy != nil && x.busy.order == o {
		x.busy.Withdrawn = true
	}
	g.countOrders()
	o.settle(why)
	n.attend(g)
}

func (g *Group) countOrders() {
	resignations, all := 0, g.more.orders
	for _, o := range all {
		if o.Resign {
			resignations++
		}
	}
	g.Orders(len(all)-resignations, resignations)
}

// settle tells what became of the orders that have been carried out, or could not be.
func (n *Node) settle(g *Group) {
	failed := n.whyNotHandedOver(g)
	x := g.more
	if x == nil {
		return
	}
	x.orders = slices.DeleteFunc(x.orders, func(o *Order) bool {
		switch {
		case !o.began:
		case g.Role == memberstate.Leader && g.Term == o.term:
			o.settle(cmp.Or(failed, ErrTransferFailed))
		default:
			o.settle(nil)
		}
		return o.began
	})
	g.countOrders()
}
