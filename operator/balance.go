// Having nodes lead about as many groups each.

package operator

import (
	"context"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/proto/electorpb"
)

// BalancePlan is what a node would hand over now to nodes that lead much less, whether it balances or not.
type BalancePlan struct {
	// Node is its id.
	Node string
	protocol.BalancePlan
}

// Balance has the node balance so often; 0: never. It returns what the node would hand over now. See [elector.Host.Balance].
func (c *Client) Balance(ctx context.Context, every time.Duration) (BalancePlan, error) {
	nanos := int64(every)
	return c.balance(ctx, &electorpb.BalanceRequest{Incarnation: c.incarnation, EveryNanos: &nanos})
}

// BalancePlan returns what the node would hand over now, and changes nothing.
func (c *Client) BalancePlan(ctx context.Context) (BalancePlan, error) {
	return c.balance(ctx, &electorpb.BalanceRequest{Incarnation: c.incarnation})
}

func (c *Client) balance(ctx context.Context, q *electorpb.BalanceRequest) (BalancePlan, error) {
	answer, err := c.calls.Balance(ctx, q)
	if err != nil {
		return BalancePlan{}, c.explain(err)
	}
	plan := BalancePlan{Node: answer.GetNode(), BalancePlan: protocol.BalancePlan{Every: time.Duration(answer.GetEveryNanos()), Why: answer.GetWhy()}}
	for _, share := range answer.GetShares() {
		plan.Shares = append(plan.Shares, protocol.BalanceShare{To: share.GetTo(), Groups: int(share.GetGroups())})
	}
	return plan, nil
}

// Balance is the node's side.
func (s *service) Balance(ctx context.Context, q *electorpb.BalanceRequest) (*electorpb.BalanceResponse, error) {
	if err := s.meant(q.GetIncarnation()); err != nil {
		return nil, toStatus(err)
	}
	if q.EveryNanos != nil {
		if err := s.host.Balance(time.Duration(q.GetEveryNanos())); err != nil {
			return nil, toStatus(err)
		}
	}
	plan, err := s.host.BalancePlan(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	answer := &electorpb.BalanceResponse{EveryNanos: int64(plan.Every), Why: plan.Why, Node: s.host.Self()}
	for _, share := range plan.Shares {
		answer.Shares = append(answer.Shares, &electorpb.BalanceShare{To: share.To, Groups: uint64(share.Groups)})
	}
	return answer, nil
}
