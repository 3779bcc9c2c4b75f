// Exploring every interleaving of small worlds of nodes that exchange beats.

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/simulation/explore"
	"github.com/hustings/hustings/simulation/explore/nodes"
)

// beatsFlags bound the search.
type beatsFlags struct {
	options nodes.Options
	asJSON  bool
}

func newExploreBeats() *cobra.Command { return new(beatsFlags).command() }

func (f *beatsFlags) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "beats",
		Short: "Check every interleaving of nodes that exchange beats",
		Long: `Check every interleaving of a few nodes that exchange beats for all of their groups: the
shipped code, in every order in which messages and beats can arrive, again or never, nodes take
turns, time passes, groups drop out and processes restart. A moment lasts a heartbeat; a
follower waits for its leader for two, and a lease lasts for one and a half.

It begins with a leader that rests, because all others are bonded, or with --calm 0 with
one that has just been elected. If an invariant does not hold, the command fails and prints
a shortest path to the violation.

Exit codes: 0 complete, 1 an invariant does not hold or something failed, 2 the command
line is wrong, 3 stopped early, by a bound or a signal, with nothing wrong so far.`,
		Example: `  hustings explore beats
  hustings explore beats --waits 1
  hustings explore beats --moments 2 --members 3 --terms 1 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	b := &f.options.Bounds
	flags.IntVar(&b.Members, "members", 2, "the `number` of nodes, 2 or 3")
	flags.IntVar(&b.Groups, "groups", 1, "the `number` of groups that they have, 1 or 2")
	flags.IntVar(&b.Terms, "terms", 2, "the largest `term` that a member adopts")
	flags.IntVar(&b.Moments, "moments", 3, "the `number` of moments, up to 6")
	flags.IntVar(&b.Calm, "calm", 4, "the `number` of moments between the election and the first moment: with 0 the first heartbeats are in flight, after 2 there are bonds, after 4 the leader rests")
	flags.IntVar(&b.Ends, "ends", 0, "`how often` a group ends at a node, where it may join again")
	flags.IntVar(&b.Inabilities, "inabilities", 0, "`how often` a follower is not to lead for a while")
	flags.IntVar(&b.Waits, "waits", 0, "`how often` a step of a group waits for the ledger")
	flags.IntVar(&b.SlowDisks, "slow-disks", 0, "`how often` a node saves nothing for a while")
	flags.IntVar(&b.Changes, "changes", 0, "`how often` an operator changes who should lead, at the leader, which ends its bonds")
	flags.IntVar(&b.Leavings, "leavings", 0, "`how many` ends of bonds a beat tells of, up to 4 (default: as many as fit in a packet)")
	flags.IntVar(&b.LeaderRestarts, "leader-restarts", 0, "`how often` the process of the first leader restarts")
	flags.IntVar(&b.FollowerRestarts, "follower-restarts", 0, "`how often` the process of one follower restarts")
	flags.Uint64Var(&f.options.MaxStates, "max-states", 0, "stop at this `number` of states (default: no limit)")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object on one line")
	return cmd
}

func (f *beatsFlags) run(cmd *cobra.Command) error {
	if err := f.options.Check(); err != nil {
		return usageError{err}
	}
	search := search{
		play: func(ctx context.Context, progress func(explore.Result)) (explore.Result, error) {
			f.options.Progress = progress
			return nodes.Explore(ctx, f.options)
		},
		bounds: f.bounds(), of: "nodes", held: "every invariant held", asJSON: f.asJSON, tell: untold,
	}
	return search.run(cmd)
}

// bounds are those of a report.
func (f *beatsFlags) bounds() map[string]any {
	b := &f.options.Bounds
	return map[string]any{
		"members": b.Members, "groups": b.Groups, "terms": b.Terms, "moments": b.Moments, "calm": b.Calm, "ends": b.Ends, "inabilities": b.Inabilities, "waits": b.Waits,
		"slow_disks": b.SlowDisks, "changes": b.Changes, "leavings": b.Leavings, "leader_restarts": b.LeaderRestarts, "follower_restarts": b.FollowerRestarts,
	}
}
