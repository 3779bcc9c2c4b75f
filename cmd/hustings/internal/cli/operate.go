// Commands to running nodes.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// operation holds the flags that all commands to nodes share.
type operation struct {
	addresses []string
	group     string
	prefix    string // how the names of the groups begin; only status sets it
	tls       tlsFlags
	as        string
	timeout   time.Duration
	asJSON    bool
}

// command is a command about a group.
func (o *operation) command(use, short, example string, patience time.Duration, run func(ctx context.Context, cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd := o.ofNodes(use, short, example, patience, run)
	cmd.Flags().StringVar(&o.group, "group", "", "the `name` of the group; not needed if the node has one")
	return cmd
}

// ofNodes is a command about whole nodes.
func (o *operation) ofNodes(use, short, example string, patience time.Duration, run func(ctx context.Context, cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			if cmd.Flags().Changed("as") && o.tls.dir == "" {
				return usageError{fmt.Errorf("--as %s names a certificate in the directory of --tls, which is not given", o.as)}
			}
			return run(ctx, cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.addresses, "address", "a", []string{"127.0.0.1:7000"}, "the `host:port` of a node; can be given several times")
	o.tls.add(cmd, "the operator that --as names", "--as names another")
	flags.StringVar(&o.as, "as", "operator", "with --tls: the `name` of the operator whose certificate is used")
	flags.DurationVar(&o.timeout, "timeout", patience, "how much `time` an answer may take")
	flags.BoolVar(&o.asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// files returns the operator's certificate; nil without TLS.
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

// answer is what a node has answered.
type answer[T any] struct {
	address string
	now     T
	err     error // it has not answered
}

// askEach asks nodes, all at once.
func askEach[T any](ctx context.Context, o *operation, addresses []string, files *grpcrpc.TLS, ask func(context.Context, *operator.Client) (T, error)) []answer[T] {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	all := make([]answer[T], len(addresses))
	var asking sync.WaitGroup
	for i, address := range addresses {
		asking.Go(func() {
			all[i].address = address
			c, err := operator.Dial(address, files)
			if err == nil {
				all[i].now, err = ask(ctx, c)
				_ = c.Close() // the answer was read, or another error says why not
			}
			all[i].err = err
		})
	}
	asking.Wait()
	return all
}

// tellEach has the nodes do something, all at once, and prints for each a line for people or, with --json, an object. Those
// that fail are named, and then the command fails.
func tellEach[T any](ctx context.Context, cmd *cobra.Command, o *operation, tell func(context.Context, *operator.Client) (T, error), text func(*answer[T]) string, object func(*answer[T]) any) error {
	files, err := o.files()
	if err != nil {
		return err
	}
	all := askEach(ctx, o, o.addresses, files, tell)
	failed := 0
	var problems []error
	for i := range all {
		a := &all[i]
		if a.err != nil {
			failed++
		}
		switch {
		case o.asJSON:
			err = json.NewEncoder(cmd.OutOrStdout()).Encode(object(a))
		case a.err != nil:
			_, err = fmt.Fprintln(cmd.ErrOrStderr(), a.err)
		default:
			_, err = fmt.Fprintln(cmd.OutOrStdout(), text(a))
		}
		problems = append(problems, err)
	}
	if failed > 0 {
		problems = append(problems, fmt.Errorf("%d of %d nodes failed", failed, len(all)))
	}
	return errors.Join(problems...)
}

// problem is the text of the error, if there is one.
func (a *answer[T]) problem() string {
	if a.err == nil {
		return ""
	}
	return a.err.Error()
}

// forHandover exceeds the longest handover with DLedger's timing, so that a failed one
// can still report its reason.
const forHandover = 30 * time.Second

func newTransfer() *cobra.Command {
	var o operation
	var to string
	cmd := o.command("transfer", "Have the leader hand over to another voter", `  hustings transfer -a 10.0.0.1:7000 --to n2`, forHandover,
		func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			return o.commandLeader(ctx, cmd, func(ctx context.Context, c *operator.Client) error {
				undoing, err := c.Transfer(ctx, o.group, to)
				if stderr := cmd.ErrOrStderr(); err == nil && undoing != nil {
					fmt.Fprintf(stderr, "this will be undone: %s should lead whenever possible (--preferred), and will be offered the leadership after %v\n",
						strings.Join(undoing.Preferred, " or "), undoing.After)
				}
				return err
			})
		})
	cmd.Flags().StringVar(&to, "to", "", "the `id` of the next leader (default: the voter that is best prepared)")
	return cmd
}

func newResign() *cobra.Command {
	var o operation
	return o.command("resign", "Have the leader give up the leadership", `  hustings resign -a 10.0.0.1:7000`, forHandover,
		func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			return o.commandLeader(ctx, cmd, func(ctx context.Context, c *operator.Client) error { return c.Resign(ctx, o.group) })
		})
}

// commandLeader finds the leader, has it do something, and prints the next status that
// names a leader.
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
			line := shown(c.Address(), elector.Report{Status: s})
			return line.print(cmd.OutOrStdout(), o.asJSON)
		}
	}
	return fmt.Errorf("the leader has done it, but no node led within %v", o.timeout)
}
