// Having nodes lead about as many groups each.

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/operator"
)

// balanceFlags are the flags of balance.
type balanceFlags struct {
	operation
	process
	every time.Duration
}

func newBalance() *cobra.Command {
	var f balanceFlags
	cmd := f.ofNodes("balance plan|on|off", "Have nodes lead about as many groups each", `  hustings balance plan -a 10.0.0.1:7000 -a 10.0.0.2:7000 -a 10.0.0.3:7000
  hustings balance on   -a 10.0.0.1:7000 -a 10.0.0.2:7000 -a 10.0.0.3:7000`, 5*time.Second, f.balance)
	cmd.Long = `Have nodes hand over some of the groups that they lead to nodes that lead much less, now
and then, until "hustings balance off" or their restart. "plan" shows what each would hand over now.

Groups are shared evenly when a node dies or is drained, without this. But a node that serves
again leads nothing until that happens to another one. With "balance on" each node compares its
number with that of the others, once in --every, and hands over at most one group in a hundred.
If the engine says that some groups are more work than others, or that some nodes should lead
more, it compares the weight of what it leads for its capacity; "hustings nodes" shows these.
No group moves again soon, and only between preferred members if there are some. A node that
drains or is protected, or that does not hear more than a third of the others, hands over nothing
in this way.

It concerns the nodes that --address names: name all of them.`
	cmd.Args = cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)
	cmd.ValidArgs = []string{"plan", "on", "off"}
	cmd.Flags().DurationVar(&f.every, "every", 10*time.Second, "with on: the `time` between two looks at the numbers")
	f.addProcess(cmd)
	return cmd
}

// jsonBalance is what a node says to balance, as it is printed with --json.
type jsonBalance struct {
	Address string         `json:"address"`
	Node    string         `json:"node,omitempty"`
	Every   time.Duration  `json:"every_nanos"`          // 0: it does not balance
	Would   map[string]int `json:"would_give,omitempty"` // groups, by node
	Why     string         `json:"why,omitempty"`        // it would give nothing
	Error   string         `json:"error,omitempty"`
}

func (f *balanceFlags) balance(ctx context.Context, cmd *cobra.Command, args []string) error {
	if f.every <= 0 {
		return usageError{fmt.Errorf("--every is %v, want more than 0s; to stop: hustings balance off", f.every)}
	}
	if err := f.fits(f.addresses); err != nil {
		return err
	}
	return tellEach(ctx, cmd, &f.operation,
		func(ctx context.Context, c *operator.Client) (operator.BalancePlan, error) {
			c = c.ForProcess(f.incarnation)
			switch args[0] {
			case "on":
				return c.Balance(ctx, f.every)
			case "off":
				return c.Balance(ctx, 0)
			default:
				return c.BalancePlan(ctx)
			}
		},
		func(a *answer[operator.BalancePlan]) string {
			return fmt.Sprintf("%s at %s %s", a.now.Node, a.address, balanceText(&a.now))
		},
		func(a *answer[operator.BalancePlan]) any { return shownBalance(a) })
}

func shownBalance(a *answer[operator.BalancePlan]) jsonBalance {
	shown := jsonBalance{Address: a.address, Node: a.now.Node, Every: a.now.Every, Why: a.now.Why, Error: a.problem()}
	for _, share := range a.now.Shares {
		if shown.Would == nil {
			shown.Would = make(map[string]int)
		}
		shown.Would[share.To] = share.Groups
	}
	return shown
}

// balanceText is "balances every 10s; now it would hand over 70 groups to n1".
func balanceText(p *operator.BalancePlan) string {
	text := "does not balance"
	if p.Every > 0 {
		text = fmt.Sprintf("balances every %v", p.Every)
	}
	if len(p.Shares) == 0 {
		return text + "; now it would hand over nothing: " + p.Why
	}
	var parts []string
	for _, share := range p.Shares {
		parts = append(parts, fmt.Sprintf("%s to %s", groupsText(share.Groups), share.To))
	}
	return text + "; now it would hand over " + strings.Join(parts, ", ")
}
