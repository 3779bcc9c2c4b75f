// Orders to hand over. Each belongs to the caller who gave it, who may withdraw it without any
// effect on the others.

package protocol

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// Order is one command to hand over, until its outcome is known.
type Order struct {
	// Resign says to step down even if nobody takes over. Otherwise the leadership goes to
	// the voter of this id, or to the best one if To is empty.
	Resign bool
	To     string
	// First is the voter that is asked first if To is empty; nobody in particular if it is empty, too.
	First string
	// Settled is called with the outcome, once. It is nil if the member leads no more and, unless
	// it has resigned, the heir leads. The caller does not read the order after that, because the
	// step that was to begin it may still write to it after a withdrawal.
	Settled func(err error)

	term  memberstate.Term // that the member leads, which the order is to end
	began bool             // the machine has been given it
}

func (o *Order) input(g *Group) *Input {
	if o.Resign {
		return &Input{Kind: Resign}
	}
	return &Input{Kind: Transfer, Seat: g.Members.Seat(o.To), First: g.Members.Seat(o.First)}
}

// begun notes that the machine has been given an order. If it leads another term by now, the order
// is for that one; if it leads none, the order was for the term in which it was given.
func (o *Order) begun(g *Group) {
	o.began = true
	if g.Role == memberstate.Leader {
		o.term = g.Term
	}
}

// Obey accepts an order, and gives it to the machine when it is its turn.
func (n *Node) Obey(g *Group, o *Order) {
	n.open(g)
	to, leads := g.Members.Seat(o.To), g.Role == memberstate.Leader
	switch {
	case !g.running:
		o.Settled(Say(ErrStopped, "group %q has stopped", g.name))
	case to == g.Rules.Self && leads:
		o.Settled(nil) // it leads already
	case o.To != "" && !g.Rules.Voters.Has(to):
		o.Settled(fmt.Errorf("%w: %q is not another voter of group %q", ErrTransferFailed, o.To, g.name))
	case !leads:
		o.Settled(ErrNotLeader)
	case !o.Resign && g.HandsOver():
		o.Settled(ErrTransferInProgress)
	default:
		o.term = g.Term
		x := n.transientOf(g)
		x.orders = append(x.orders, o)
		g.countOrders()
		n.give(g, o.input(g), purpose{order: o})
	}
}

// Withdraw removes an order whose outcome is still open.
func (n *Node) Withdraw(g *Group, o *Order, why error) {
	n.open(g)
	x := g.transient()
	switch {
	case x == nil:
	case strike(&x.awaitHeir, o):
		o.Settled(why)
		n.tidy(g)
	case strike(&x.orders, o):
		x.drop(o)
		if x.busy != nil && x.busy.order == o {
			x.busy.Withdrawn = true
		}
		g.countOrders()
		o.Settled(why)
		n.attend(g)
	}
}

// strike removes an order from a list, and says whether it was there.
func strike(list *[]*Order, o *Order) (was bool) {
	at := slices.Index(*list, o)
	if at >= 0 {
		*list = slices.Delete(*list, at, at+1)
	}
	return at >= 0
}

func (g *Group) countOrders() {
	resignations, all := 0, g.transient().orders
	for _, o := range all {
		if o.Resign {
			resignations++
		}
	}
	g.Orders(len(all)-resignations, resignations)
}

// settle settles the orders that have been carried out, or could not be. A transfer is carried out
// when another member leads.
func (n *Node) settle(g *Group) {
	failed := n.whyNotHandedOver(g)
	x := g.transient()
	if x == nil {
		return
	}
	x.orders = slices.DeleteFunc(x.orders, func(o *Order) bool {
		switch {
		case !o.began:
		case g.Role == memberstate.Leader && g.Term == o.term:
			o.Settled(cmp.Or(failed, ErrTransferFailed))
		case o.Resign:
			o.Settled(nil)
		default:
			x.awaitHeir = append(x.awaitHeir, o)
		}
		return o.began
	})
	g.countOrders()
	v := g.view()
	n.succeed(g, &v)
}

// succeed settles the orders that wait for a leader of a later term, if there is one.
func (n *Node) succeed(g *Group, v *View) {
	x := g.transient()
	if x == nil || len(x.awaitHeir) == 0 || v.Leader == memberstate.Nobody {
		return
	}
	leader := g.Members.ID(v.Leader)
	x.awaitHeir = slices.DeleteFunc(x.awaitHeir, func(o *Order) bool {
		switch {
		case v.Term <= o.term:
			return false
		case v.Leader == g.Rules.Self, o.To != "" && o.To != leader:
			o.Settled(fmt.Errorf("%w: %q leads term %d", ErrTransferFailed, leader, v.Term))
		default:
			o.Settled(nil)
		}
		return true
	})
}
