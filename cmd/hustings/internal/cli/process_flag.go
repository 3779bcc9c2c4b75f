// Which process of a node a command is meant for.

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// process is the flag of commands that may be meant for one process of one node.
type process struct{ incarnation uint64 }

func (p *process) addProcess(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&p.incarnation, "incarnation", 0, "only if the node's process has this `number`, which hustings nodes shows; another process refuses")
}

// fits refuses the flag if the command is for several nodes: no two have a process in common.
func (p *process) fits(addresses []string) error {
	if p.incarnation != 0 && len(addresses) != 1 {
		return usageError{fmt.Errorf("--incarnation is that of one node, and --address names %d", len(addresses))}
	}
	return nil
}
