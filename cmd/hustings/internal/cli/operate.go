// Looking at nodes and commanding them.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// operation is what all commands to nodes have in common.
type operation struct {
	addresses []string
	group     string
	tls       tlsFlags
	as        string
	timeout   time.Duration
	asJSON    bool
}

func (o *operation) command(use, short, example string, run func(ctx context.Context, cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return run(ctx, cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.addresses, "address", "a", []string{"127.0.0.1:7000"}, "the `host:port` of a node; may be given several times")
	flags.StringVar(&o.group, "group", "", "the `name` of the group; not needed if the node has one")
	o.tls.add(cmd, "the operator that --as names")
	flags.StringVar(&o.as, "as", "operator", "the `name` of the operator whose certificate is used")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "how `long` to wait for an answer")
	flags.BoolVar(&o.asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// files are the operator's; nil without TLS.
func (o *operation) files() (*grpcrpc.TLS, error) {
	if !o.tls.given() {
		return nil, nil
	}
	files, err := o.tls.files(o.as)
	if err != nil {
		return nil, usageError{err}
	}
	return files, nil
}

// shownStatus is a status as it is printed.
type shownStatus struct {
	Address  string `json:"address"`
	Node     string `json:"node,omitempty"`
	Group    string `json:"group,omitempty"`
	Role     string `json:"role,omitempty"`
	Term     uint64 `json:"term,omitempty"`
	Leader   string `json:"leader,omitempty"`
	Vote     string `json:"vote,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
	Error    string `json:"error,omitempty"`
}

func shown(address string, s elector.Status) shownStatus {
	return shownStatus{
		Address: address, Node: s.Self, Group: s.Group, Role: s.Role.String(), Term: uint64(s.Term),
		Leader: s.Leader, Vote: s.Vote, Revision: s.Revision,
	}
}

func (s *shownStatus) print(to io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(to).Encode(s)
	}
	if s.Error != "" {
		_, err := fmt.Fprintf(to, "%-22s %s\n", s.Address, s.Error)
		return err
	}
	leader := "no leader"
	if s.Leader != "" {
		leader = "leader " + s.Leader
	}
	_, err := fmt.Fprintf(to, "%-22s %-12s %-12s %-10s term %-6d %s\n", s.Address, s.Group, s.Node, s.Role, s.Term, leader)
	return err
}

func newStatus() *cobra.Command {
	var o operation
	return o.command("status", "Say what nodes are", `  hustings status -a 10.0.0.1:7000 -a 10.0.0.2:7000 --tls ~/.hustings --as alice`,
		func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			files, err := o.files()
			if err != nil {
				return err
			}
			silent := 0
			for _, address := range o.addresses {
				all, err := o.status(ctx, address, files)
				if err != nil {
					silent++
					all = []shownStatus{{Address: address, Error: strings.TrimPrefix(err.Error(), address+": ")}}
				}
				for i := range all {
					if err := all[i].print(cmd.OutOrStdout(), o.asJSON); err != nil {
						return err
					}
				}
			}
			if silent > 0 {
				return fmt.Errorf("%d of %d nodes did not answer", silent, len(o.addresses))
			}
			return nil
		})
}

// status asks one node.
func (o *operation) status(ctx context.Context, address string, files *grpcrpc.TLS) (_ []shownStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	c, err := operator.Dial(address, files)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	all, err := c.Status(ctx, o.group)
	var list []shownStatus
	for _, s := range all {
		list = append(list, shown(address, s))
	}
	return list, err
}

func newWatch() *cobra.Command {
	var o operation
	return o.command("watch", "Print what a node is, now and after every change", `  hustings watch -a 10.0.0.1:7000 --json`,
		func(ctx context.Context, cmd *cobra.Command, _ []string) (err error) {
			files, err := o.files()
			if err != nil {
				return err
			}
			if len(o.addresses) != 1 {
				return usageError{fmt.Errorf("--address is given %d times; watch looks at one node", len(o.addresses))}
			}
			c, err := operator.Dial(o.addresses[0], files)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.Close()) }()
			for s, err := range c.Watch(ctx, o.group) {
				if err != nil {
					return err
				}
				line := shown(c.Address(), s)
				if err := line.print(cmd.OutOrStdout(), o.asJSON); err != nil {
					return err
				}
			}
			return nil
		})
}

func newTransfer() *cobra.Command {
	var o operation
	var to string
	cmd := o.command("transfer", "Have the leader hand over to another voter", `  hustings transfer -a 10.0.0.1:7000 --to n2`,
		func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			return o.commandLeader(ctx, cmd, func(ctx context.Context, c *operator.Client) error { return c.Transfer(ctx, o.group, to) })
		})
	cmd.Flags().StringVar(&to, "to", "", "the `id` of the voter that is to lead; the best one if it is not given")
	return cmd
}

func newResign() *cobra.Command {
	var o operation
	return o.command("resign", "Have the leader give the leadership up", `  hustings resign -a 10.0.0.1:7000`,
		func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			return o.commandLeader(ctx, cmd, func(ctx context.Context, c *operator.Client) error { return c.Resign(ctx, o.group) })
		})
}

// commandLeader has the leader, wherever it is, do something, and prints what it is
// when there is a leader again.
func (o *operation) commandLeader(ctx context.Context, cmd *cobra.Command, do func(context.Context, *operator.Client) error) (err error) {
	files, err := o.files()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	c, err := operator.DialLeader(ctx, o.addresses, files, o.group)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := do(ctx, c); err != nil {
		return err
	}
	for s, err := range c.Watch(ctx, o.group) {
		if err != nil {
			return err
		}
		if s.Leader != "" {
			line := shown(c.Address(), s)
			return line.print(cmd.OutOrStdout(), o.asJSON)
		}
	}
	return fmt.Errorf("it is done, but nobody led after %v", o.timeout)
}
