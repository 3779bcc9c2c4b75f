// Even loads: a node that leads much more than another one hands some groups over to it.

package elector

import (
	"context"
	"errors"
	"time"

	"github.com/hustings/hustings/elector/protocol"
)

// Balance has this node compare so often how many groups it leads with the other nodes; 0: never, which is usual. 10 s suit
// most clusters. If groups have a Weight or nodes a Capacity, it compares the weight of what they lead for their capacity. Each
// time it hands over at most one group in a hundred to nodes that lead much less, and no group that it
// has begun to lead in the last thirty intervals. Groups go from preferred members to preferred members only. While the node
// drains or is protected, or while more than a third of the other nodes are silent, nothing is handed over in this way.
//
// Nodes learn each other's numbers from their beats, so nodes without beats do not balance, nor do those whose groups all have a
// Vouch. To have all nodes lead about as much, all of them must balance.
func (h *Host) Balance(every time.Duration) error {
	var bad protocol.Complaints
	if protocol.CheckBalance(&bad, every); len(bad) > 0 {
		return errors.Join(bad...)
	}
	return h.ordered(protocol.Request{Subject: protocol.Subject{Kind: protocol.AskBalance}, Every: every})
}

// BalancePlan returns what this node would hand over now if it balanced, whether it does or not. It waits until the host's loop has
// time for it.
func (h *Host) BalancePlan(ctx context.Context) (protocol.BalancePlan, error) {
	plan, runs, err := ask(ctx, h, protocol.Subject{Kind: protocol.AskBalancePlan}, func(s protocol.Shown) protocol.BalancePlan { return s.Balance })
	if !runs {
		plan.Why = "the node runs no group"
	}
	return plan, err
}
