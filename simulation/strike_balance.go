// Operators that have nodes balance what they lead.

package simulation

import (
	"slices"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/simulation/invariant"
)

// drawBalance draws an interval that is short enough for several groups to be handed over.
func drawBalance(w *world, s *Strike) bool {
	drawLeaderOrNode(w, s)
	s.Count = 1 + int64(w.swarm.span(2*w.options.Timing.Detection()))
	s.Lasts += w.swarm.span(32 * w.options.Timing.Detection())
	return true
}

// balanceNode has a node balance each s.Count nanoseconds, for s.Lasts, unless another process takes its place before.
func balanceNode(w *world, s *Strike) bool {
	n := w.struckBy(s)
	if !n.Alive {
		return false
	}
	n.balances(time.Duration(s.Count))
	n.planned()
	w.after(s.Lasts, nodeStays, n, n.Incarnation)
	w.tracer.lasts(s)
	return true
}

// balances has a node balance so often; 0: never.
func (n *node) balances(every time.Duration) {
	n.Balances = every > 0
	n.ask(protocol.Request{Subject: protocol.Subject{Kind: protocol.AskBalance}, Every: every, Then: func() {}})
}

// planned checks what a node would hand over for balance: to other nodes of the world, or nothing for some reason.
func (n *node) planned() {
	w := n.world
	plan := n.host.PlanBalance()
	for _, share := range plan.Shares {
		if share.Groups <= 0 || share.To == n.name() || !slices.Contains(names[:len(w.nodes)], share.To) {
			w.check.ViolatedBy(invariant.GetsEven, &n.Node, 0, "it would hand over %d groups to %q", share.Groups, share.To)
		}
	}
	if (len(plan.Shares) == 0) != (plan.Why != "") {
		w.check.ViolatedBy(invariant.GetsEven, &n.Node, 0, "it would hand over %v, because of %q", plan.Shares, plan.Why)
	}
}

// stays ends the balance of a node.
func (n *node) stays(incarnation uint32) {
	if n.Alive && n.Incarnation == incarnation {
		n.balances(0)
	}
}
