// Having nodes hold still.

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/operator"
)

// protectFlags are the flags of protect.
type protectFlags struct {
	operation
	process
}

func newProtect() *cobra.Command {
	var f protectFlags
	cmd := f.ofNodes("protect on|off", "Have nodes hand over nothing of their own accord", `  hustings protect on -a 10.0.0.1:7000 -a 10.0.0.2:7000 -a 10.0.0.3:7000
  hustings protect off -a 10.0.0.1:7000 -a 10.0.0.2:7000 -a 10.0.0.3:7000`, 5*time.Second, f.protect)
	cmd.Long = `Have nodes hand over nothing of their own accord, or do so again. That is for the time in
which nobody knows yet what is wrong with a cluster, so that it holds still.

A node that is protected does not go on with a drain, and offers no group to a preferred
member. Handovers under way end as usual. Elections go on: if a leader dies, or cannot work,
another one takes its place. What you order for one group is done: hustings transfer, resign.

It concerns the nodes that --address names, and no others. A node forgets it when it is started
again. "hustings nodes" shows which are protected.`
	cmd.Args = cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)
	cmd.ValidArgs = []string{"on", "off"}
	f.addProcess(cmd)
	return cmd
}

// jsonProtection is what a node says to protect, as it is printed with --json.
type jsonProtection struct {
	Address   string `json:"address"`
	Node      string `json:"node,omitempty"`
	Protected bool   `json:"protected"`
	Error     string `json:"error,omitempty"`
}

func (f *protectFlags) protect(ctx context.Context, cmd *cobra.Command, args []string) error {
	if err := f.fits(f.addresses); err != nil {
		return err
	}
	return tellEach(ctx, cmd, &f.operation,
		func(ctx context.Context, c *operator.Client) (operator.Nodes, error) {
			if err := c.ForProcess(f.incarnation).Protect(ctx, args[0] == "on"); err != nil {
				return operator.Nodes{}, err
			}
			return c.Nodes(ctx)
		},
		func(a *nodeAnswer) string {
			if a.now.Progress.Protected {
				return fmt.Sprintf("%s at %s hands over nothing of its own accord", a.now.Self, a.address)
			}
			return fmt.Sprintf("%s at %s is protected no more", a.now.Self, a.address)
		},
		func(a *nodeAnswer) any {
			return jsonProtection{Address: a.address, Node: a.now.Self, Protected: a.now.Progress.Protected, Error: a.problem()}
		})
}
