// Nodes that are to lead about as many groups each.

package operator

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/proto/electorpb"
)

func TestANodeSaysWhatItWouldGive(t *testing.T) {
	withCrew(t, 10, func(c crew) {
		t, ask := c.t, func(node int, every *int64) *electorpb.BalanceResponse {
			answer, err := c.nodes[node].Balance(c.t.Context(), &electorpb.BalanceRequest{EveryNanos: every})
			require.NoError(c.t, err)
			return answer
		}
		require.NoError(t, c.nodes[0].Drain(new(electorpb.DrainRequest), &drains{ctx: t.Context()}))
		_, err := c.nodes[0].Undrain(t.Context(), new(electorpb.UndrainRequest))
		require.NoError(t, err)
		<-time.After(time.Second)
		answer := ask(1, nil)
		assert.Equal(t, "n1", answer.GetNode())
		assert.Zero(t, answer.GetEveryNanos())
		require.Len(t, answer.GetShares(), 1)
		assert.Equal(t, "n0", answer.GetShares()[0].GetTo())
		assert.EqualValues(t, 1, answer.GetShares()[0].GetGroups())
		assert.Zero(t, c.nodes[0].host.Progress().Led)

		every := int64(time.Minute)
		assert.Equal(t, every, ask(1, &every).GetEveryNanos())
		assert.NotEmpty(t, ask(0, nil).GetWhy())
		<-time.After(40 * time.Minute)
		assert.NotZero(t, c.nodes[0].host.Progress().Led)
		never := int64(0)
		assert.Zero(t, ask(1, &never).GetEveryNanos())
		for wrong, why := range map[int64]string{-1: "Balance is negative", math.MaxInt64: "Balance is 2562047h47m16.854775807s, 24h0m0s is the most"} {
			_, err = c.nodes[1].Balance(t.Context(), &electorpb.BalanceRequest{EveryNanos: &wrong})
			assert.ErrorContains(t, err, why)
		}
	})
}

// balancing is a node that answers Balance like this.
type balancing struct {
	electorpb.OperatorServiceClient
	asked  *electorpb.BalanceRequest
	answer *electorpb.BalanceResponse
}

func (b *balancing) Balance(_ context.Context, q *electorpb.BalanceRequest, _ ...grpc.CallOption) (*electorpb.BalanceResponse, error) {
	b.asked = q
	return b.answer, nil
}

func TestAClientReadsWhatANodeWouldGive(t *testing.T) {
	b := &balancing{answer: &electorpb.BalanceResponse{
		Node: "n1", EveryNanos: 7, Shares: []*electorpb.BalanceShare{{To: "n0", Groups: 3}, {To: "n2", Groups: 1}}, Why: "no reason",
	}}
	c := &Client{calls: b, incarnation: 5}
	want := BalancePlan{Node: "n1", BalancePlan: protocol.BalancePlan{
		Every: 7, Shares: []protocol.BalanceShare{{To: "n0", Groups: 3}, {To: "n2", Groups: 1}}, Why: "no reason",
	}}
	plan, err := c.BalancePlan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, plan)
	assert.Nil(t, b.asked.EveryNanos, "it changes nothing")
	assert.EqualValues(t, 5, b.asked.GetIncarnation())
	_, err = c.Balance(t.Context(), 0)
	require.NoError(t, err)
	require.NotNil(t, b.asked.EveryNanos)
	assert.Zero(t, b.asked.GetEveryNanos())
	assert.EqualValues(t, 5, b.asked.GetIncarnation())
}
