// Nodes that are to lead about as many groups each.

package cli

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/operator"
)

func TestNodesBalanceOnlyIfTheyAreToldTo(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{})
	nothing := "; now it would hand over nothing: no other node that serves leads much less for its capacity"
	for _, c := range []struct{ order, says string }{
		{"plan", "does not balance"}, {"on", "balances every 1h0m0s"}, {"plan", "balances every 1h0m0s"}, {"off", "does not balance"},
	} {
		lines := succeed(t, "balance", c.order, "--every", "1h", "-a", addresses[0], "-a", addresses[2])
		require.Len(t, lines, 2)
		assert.Equal(t, fmt.Sprintf("n0 at %s %s%s", addresses[0], c.says, nothing), lines[0])
		assert.Equal(t, fmt.Sprintf("n2 at %s %s%s", addresses[2], c.says, nothing), lines[1])
	}
	assert.Equal(t, []string{fmt.Sprintf(`{"address":%q,"node":"n0","every_nanos":10000000000,"why":"no other node that serves leads much less for its capacity"}`, addresses[0])},
		succeed(t, "balance", "on", "-a", addresses[0], "--json"), "10 s are usual")
}

func TestWhatANodeWouldGive(t *testing.T) {
	plan := operator.BalancePlan{BalancePlan: protocol.BalancePlan{
		Every: 10 * time.Second, Shares: []protocol.BalanceShare{{To: "n1", Groups: 1}, {To: "n2", Groups: 7000}},
	}}
	assert.Equal(t, "balances every 10s; now it would hand over 1 group to n1, 7,000 groups to n2", balanceText(&plan))
	object, err := json.Marshal(shownBalance(&answer[operator.BalancePlan]{address: "n0:7000", now: plan}))
	require.NoError(t, err)
	assert.JSONEq(t, `{"address":"n0:7000","every_nanos":10000000000,"would_give":{"n1":1,"n2":7000}}`, string(object))
}

func TestBalanceSaysWhichNodesDidNotAnswer(t *testing.T) {
	t.Parallel()
	gone, err := node.FreeAddresses(1)
	require.NoError(t, err)
	stderr := fail(t, exitFailed, "balance", "plan", "-a", gone[0])
	assert.Contains(t, stderr, "connection refused")
	assert.Contains(t, stderr, "1 of 1 nodes failed")
	code, stdout, _ := run("balance", "plan", "-a", gone[0], "--json")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stdout, `"error":"`)
	for _, wrong := range [][]string{{"balance"}, {"balance", "maybe"}, {"balance", "on", "--every", "0s"}, {"balance", "on", "--every", "-1s"}} {
		fail(t, exitUsage, wrong...)
	}
}
