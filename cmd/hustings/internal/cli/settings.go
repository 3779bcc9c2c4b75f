// The settings of running nodes: how they take part in a group until they restart.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// settings are the flags of the command.
type settings struct {
	operation
	all       bool
	electable bool
	preferred []string
	changes   operator.Changes
}

func newSettings() *cobra.Command {
	var s settings
	cmd := s.command("settings", "Show or change how running nodes take part", `  hustings settings -a 10.0.0.1:7000 --all
  hustings settings -a 10.0.0.1:7000 --electable=false
  hustings settings -a 10.0.0.1:7000 --all --preferred n1,n2
  hustings settings -a 10.0.0.1:7000 --all --heartbeat 200ms --round-timeout 200ms`, 10*time.Second, s.run)
	cmd.Long = `Show or change how running nodes take part in a group: the nodes at the addresses, or
with --all all members of the group, one after the other. A node that restarts has the
settings of its configuration again.

A node with --electable=false hands over if it leads, and leads again only if no other
voter can. Preferred voters lead whenever they can; change them at all members. Intervals
can be changed at one member after the other in any order, while the group has a leader
and leases. Those with which a node could not work are refused, and so are those that
are too short for the round trips that it has measured.`
	flags := cmd.Flags()
	flags.BoolVar(&s.all, "all", false, "all members of the group, which the first node that answers names")
	flags.BoolVar(&s.electable, "electable", true, "the node leads whenever it is elected; =false: only if no other voter can")
	flags.StringSliceVar(&s.preferred, "preferred", nil, "the `ids` of the voters that should lead whenever they can; empty: none")
	t := &s.changes.Timing
	flags.DurationVar(&t.Heartbeat, "heartbeat", 0, "how much `time` is between two heartbeats of a leader")
	flags.IntVar(&t.Leak, "leak", 0, "the `number` of heartbeats that may be missed")
	flags.DurationVar(&t.MinVoteWait, "min-vote-wait", 0, "the least `time` between two attempts of a candidate")
	flags.DurationVar(&t.MaxVoteWait, "max-vote-wait", 0, "the most `time` between two attempts of a candidate")
	flags.DurationVar(&t.RoundTimeout, "round-timeout", 0, "how much `time` a candidate waits for votes")
	flags.DurationVar(&t.DriftMargin, "drift-margin", 0, "how much `time` a lease is shorter at its holder than at those who promised it")
	return cmd
}

func (s *settings) run(ctx context.Context, cmd *cobra.Command, _ []string) error {
	if cmd.Flags().Changed("electable") {
		s.changes.Electable = &s.electable
	}
	if cmd.Flags().Changed("preferred") {
		s.changes.Preferred = append([]string{}, s.preferred...)
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	addresses := s.addresses
	if s.all {
		if addresses, err = s.members(ctx, files); err != nil {
			return err
		}
	}
	for _, address := range addresses {
		if err := s.change(ctx, cmd.OutOrStdout(), address, files); err != nil {
			return err
		}
	}
	return nil
}

// members returns the addresses of all members, as the first node knows them that answers.
func (s *settings) members(ctx context.Context, files *grpcrpc.TLS) (addresses []string, err error) {
	var problems []error
	for _, address := range s.addresses {
		c, err := operator.Dial(address, files)
		if err != nil {
			return nil, err
		}
		members, err := c.Members(ctx, s.group)
		_ = c.Close() // the answer was read, or another error says why not
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for _, m := range members {
			if m.Address == "" { // it is the node that was asked
				m.Address = address
			}
			addresses = append(addresses, m.Address)
		}
		return addresses, nil
	}
	return nil, errors.Join(problems...)
}

// change changes the settings of one node, and prints what they are then.
func (s *settings) change(ctx context.Context, to io.Writer, address string, files *grpcrpc.TLS) error {
	c, err := operator.Dial(address, files)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // the answer was read, or another error says why not
	now, err := c.Settings(ctx, s.group, s.changes)
	if err != nil {
		return err
	}
	if s.asJSON {
		return json.NewEncoder(to).Encode(shownSettings(address, &now))
	}
	_, err = fmt.Fprintln(to, now)
	return err
}

// jsonSettings are settings as they are printed with --json.
type jsonSettings struct {
	Address      string   `json:"address"`
	Node         string   `json:"node"`
	Heartbeat    int64    `json:"heartbeat_nanos"`
	Leak         int      `json:"leak"`
	MinVoteWait  int64    `json:"min_vote_wait_nanos"`
	MaxVoteWait  int64    `json:"max_vote_wait_nanos"`
	RoundTimeout int64    `json:"round_timeout_nanos"`
	DriftMargin  int64    `json:"drift_margin_nanos"`
	Preferred    []string `json:"preferred"`
	Electable    bool     `json:"electable"`
}

func shownSettings(address string, s *operator.Settings) jsonSettings {
	t := &s.Timing
	return jsonSettings{
		Address: address, Node: s.Node, Heartbeat: int64(t.Heartbeat), Leak: t.Leak, MinVoteWait: int64(t.MinVoteWait), MaxVoteWait: int64(t.MaxVoteWait),
		RoundTimeout: int64(t.RoundTimeout), DriftMargin: int64(t.DriftMargin), Preferred: append([]string{}, s.Preferred...), Electable: s.Electable,
	}
}
