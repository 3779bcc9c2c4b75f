// Making a node's store, and raising a term in one.

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/memberstate"
)

func newStoreCreate() *cobra.Command {
	var data, id string
	cmd := &cobra.Command{
		Use:   "create --data DIR --node ID",
		Short: "Make the store of a node that has never run before",
		Long: `Make the store of a node that has never run before, and its directory if it is
missing. From then on "hustings serve" needs no --new.

Do this once in a node's life. A node that has lost its store has forgotten its votes:
with a new store it could vote again, and two leaders could be elected in one term. It
must come back under another id.`,
		Example: `  hustings store create --data /var/lib/hustings --node n0`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" || id == "" {
				return usageError{errors.New("--data and --node are both needed: the store's directory, and its node")}
			}
			path, err := node.CreateStore(data, id)
			if errors.As(err, new(node.ConfigError)) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "the `directory`, as for serve")
	cmd.Flags().StringVar(&id, "node", "", "the `id` of the node")
	return cmd
}

// raise holds the arguments of "store raise".
type raise struct {
	path, group string
	to          uint64
	yes         bool
}

func newStoreRaise() *cobra.Command {
	var r raise
	cmd := &cobra.Command{
		Use:   "raise FILE --group NAME --to TERM",
		Short: "Raise the term of a group, while the node does not run",
		Long: `Raise the term of a group, while the node does not run. This is for a node that logs
"the term of a peer is too far above this member's": their terms are more than
` + strconv.FormatUint(uint64(memberstate.MaxTermStep), 10) + ` apart, so this node drops what the peer says, and will never follow it.
TERM is the term of the peer in that message. The command first says what the raise
costs, and asks you to confirm it.`,
		Example: `  hustings store raise /var/lib/hustings/n0.store --group orders --to 1099511627780`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.path = args[0]
			if r.group == "" || r.to == 0 {
				return usageError{errors.New("--group and --to are both needed: the group, and its new term")}
			}
			return r.run(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&r.group, "group", "", "the `name` of the group")
	cmd.Flags().Uint64Var(&r.to, "to", 0, "the `term` to raise it to")
	cmd.Flags().BoolVar(&r.yes, "yes", false, "do not say what it costs, and do not ask")
	return cmd
}

func (r *raise) run(in io.Reader, out io.Writer) (err error) {
	info, err := memberstate.InspectFile(r.path)
	if info.Node == "" {
		return err
	}
	s, err := memberstate.OpenFile(r.path, info.Node)
	if errors.Is(err, memberstate.ErrStoreLocked) {
		err = fmt.Errorf("%w: stop the node first", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	before, known, err := s.Load(r.group)
	if err != nil {
		return err
	}
	if known && memberstate.Term(r.to) > before.Term {
		if err := r.confirm(in, out, info.Node, before); err != nil {
			return err
		}
	}
	_, after, err := s.RaiseTerm(r.group, memberstate.Term(r.to)) // which refuses unknown groups and lower terms
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "node %s is now in term %d of group %s\n", info.Node, after.Term, r.group)
	return err
}

// confirm says what the raise costs, and asks for the term once more.
func (r *raise) confirm(in io.Reader, out io.Writer, id string, before memberstate.Record) error {
	if r.yes {
		return nil
	}
	vote := "It has not voted in that term."
	if before.Vote != "" {
		vote = fmt.Sprintf("Its vote for %s is dropped with that term. This is safe: the node never goes back to it.", before.Vote)
	}
	_, err := fmt.Fprintf(out, `Node %s is in term %d of group %s. Raising it to %d costs this:

  - There is no way back: no term is ever lowered. %d terms will not be led.
    Fencing tokens make that jump, too; they still only grow.
  - %s
  - A leader of a lower term must take a larger one to keep this node. It is replaced
    if it cannot.
  - Members that are more than %d terms below ignore this node until they are
    raised as well. If the term is wrong by that much, this node is lost to them.

Type the new term to go on: `, id, before.Term, r.group, r.to, r.to-uint64(before.Term)-1, vote, uint64(memberstate.MaxTermStep))
	if err != nil {
		return err
	}
	answer, err := bufio.NewReader(in).ReadString('\n')
	if strings.TrimSpace(answer) == strconv.FormatUint(r.to, 10) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return errors.New("nothing was changed, because it was not confirmed; --yes does not ask")
	}
	return fmt.Errorf("nothing was changed: %q is not the new term", strings.TrimSpace(answer))
}
