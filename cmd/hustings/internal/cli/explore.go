// Exploring every interleaving of a small group.

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/simulation/explore"
	"github.com/hustings/hustings/simulation/picture"
)

// exploreFlags bound the search.
type exploreFlags struct {
	options  explore.Options
	live     bool
	budgets  explore.Budgets
	features []string
	memory   uint64 // in megabytes
	out      string
	asJSON   bool
}

// features can happen besides elections. The last four of allFeatures make a search much
// longer, so they are off by default.
var (
	features    = []string{"pre-vote", "crashes", "transfers", "hints"}
	allFeatures = append(slices.Clone(features), "withdrawals", "pauses", "ability", "leases")
)

func newExplore() *cobra.Command { return new(exploreFlags).command() }

func (f *exploreFlags) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Check every interleaving of a small group",
		Long: `Check every interleaving of a small group: the shipped code, in every order in which
messages can arrive, alarms ring, processes crash and ledgers grow. sim samples worlds;
explore leaves out nothing within its bounds, and says whether it reached their end. If
an invariant does not hold, the command fails: it prints a shortest path to the
violation, repeats it with plain machines, writes it to a folder as a scenario and a
picture, and prints the command that replays it.

Exit codes: 0 complete, 1 an invariant does not hold or something failed, 2 the command
line is wrong, 3 stopped early, by a bound or a signal, with nothing wrong so far.

A message that was sent can arrive at any later time, any number of times, or never.
With --live it arrives once, losses, duplicates, crashes and changes of ability have
budgets, and explore checks that a leader can still be elected from every state that the group can reach.`,
		Example: `  hustings explore
  hustings explore --members 5 --ledger 0 --features pre-vote
  hustings explore --terms 2 --ledger 0 --features pre-vote,leases --lag 2
  hustings explore --live --terms 2 --ledger 0 --features pre-vote
  hustings explore --members 2 --terms 3 --rounds 2 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	b := &f.options.Bounds
	flags.IntVar(&b.Members, "members", 3, "the `size` of the group, up to 5")
	flags.IntVar(&b.Terms, "terms", 1, "the largest `term` in which a member stands")
	flags.IntVar(&b.Beats, "rounds", 1, "the `number` of rounds of heartbeats of a leader; rounds of votes have no bound")
	flags.IntVar(&b.Entries, "ledger", 1, "the largest `number` of entries in a ledger")
	flags.StringSliceVar(&f.features, "features", features, "what happens besides elections: `names` of these and of withdrawals (of orders, and by engines that return from Lead), pauses (that take long or fail), ability (to lead, which comes and goes) and leases")
	flags.IntVar(&b.Leak, "leak", 0, "after what `number` of unanswered rounds of heartbeats a leader leaves office (default 1)")
	flags.IntVar(&b.Lag, "lag", 0, "how many `ticks` each clock may miss; a lease allows for 1")
	flags.BoolVar(&f.live, "live", false, "check that a leader can always be elected")
	flags.IntVar(&f.budgets.InFlight, "in-flight", 3, "with --live, the largest `number` of messages in flight")
	flags.IntVar(&f.budgets.Drops, "drops", 0, "with --live, the `number` of messages that are lost")
	flags.IntVar(&f.budgets.Duplicates, "duplicates", 0, "with --live, the `number` of messages that arrive twice")
	flags.IntVar(&f.budgets.Restarts, "restarts", 1, "with --live, the `number` of crashes")
	flags.IntVar(&f.budgets.Inabilities, "inabilities", 3, "with --live and ability, the `number` of times that a member's ability changes or LedgerEnd hangs")
	flags.IntVar(&f.options.Workers, "workers", runtime.GOMAXPROCS(0), "the `number` of parallel workers; with 1 every search takes the same course")
	flags.Uint64Var(&f.options.MaxStates, "max-states", 0, "stop at this `number` of states (default: no limit)")
	flags.Uint64Var(&f.memory, "memory", 0, "stop at this many `megabytes` of memory (default: no limit)")
	flags.StringVar(&f.options.Checkpoint, "checkpoint", "", "save the search to this `file`, from time to time and when it is stopped, and continue from it")
	flags.StringVar(&f.out, "out", ".", "the `folder` that a violation is written to, in a folder of its own")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object on one line")
	cmd.AddCommand(newExploreBeats())
	return cmd
}

func (f *exploreFlags) run(cmd *cobra.Command) error {
	if err := errors.Join(f.checkMode(cmd.Flags().Changed), f.check()); err != nil {
		return usageError{err}
	}
	search := search{
		play: func(ctx context.Context, progress func(explore.Result)) (explore.Result, error) {
			f.options.Progress = progress
			if f.live {
				return explore.Live(ctx, f.options, f.budgets)
			}
			return explore.Explore(ctx, f.options)
		},
		bounds: f.bounds(), of: "machines", held: "every invariant held", asJSON: f.asJSON, tell: f.tellViolation,
	}
	if f.live {
		search.held = "a leader can be elected from every state"
	}
	return search.run(cmd)
}

// tellViolation writes the path to a violation to files, and says how to replay it.
func (f *exploreFlags) tellViolation(v *explore.Violation) error {
	told := untold(v)
	folder := filepath.Join(f.out, "violation-explored")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return errors.Join(told, err)
	}
	scenario, drawn := filepath.Join(folder, "scenario.txt"), filepath.Join(folder, "picture.html")
	page := picture.Page{Title: v.Error(), Traces: []picture.Tab{{Name: "a shortest path", Trace: v.Trace(f.options.Members)}}}
	if v.Script == nil {
		why := "plain machines could not be led along this path"
		if f.live {
			why = "the path was not tried with plain machines, because --live has no scripts"
		}
		return errors.Join(fmt.Errorf("%w\n%s; it is drawn in %s", told, why, drawn), writePicture(drawn, page))
	}
	page.Replay = "hustings replay " + scenario
	if err := errors.Join(os.WriteFile(scenario, []byte(v.Text()), 0o666), writePicture(drawn, page)); err != nil {
		return errors.Join(told, err)
	}
	return fmt.Errorf("%w\nsee it with: %s\nwritten to %s: see picture.html", told, page.Replay, folder)
}

func (f *exploreFlags) check() error {
	for _, name := range f.features {
		if !slices.Contains(allFeatures, name) {
			return fmt.Errorf("--features has %q, want names of %s", name, strings.Join(allFeatures, ", "))
		}
	}
	has := func(name string) bool { return slices.Contains(f.features, name) }
	b := &f.options.Bounds
	b.NoPreVote, b.NoCrash, b.NoTransfer, b.NoHints = !has("pre-vote"), !has("crashes"), !has("transfers"), !has("hints")
	b.Withdrawals, b.Pauses, b.Ability, b.Leases = has("withdrawals"), has("pauses"), has("ability"), has("leases")
	f.options.MaxMemory = f.memory << 20
	if f.live {
		return errors.Join(f.options.Check(), f.budgets.Check())
	}
	return f.options.Check()
}

// Flags that only one of the two searches has.
var (
	liveFlags  = []string{"in-flight", "drops", "duplicates", "restarts", "inabilities"}
	otherFlags = []string{"workers", "checkpoint", "lag"}
)

// checkMode refuses flags of the other search.
func (f *exploreFlags) checkMode(given func(string) bool) (err error) {
	idle, says := liveFlags, "needs --live"
	if f.live {
		idle, says = otherFlags, "does not go with --live"
	}
	for _, name := range idle {
		if given(name) {
			err = errors.Join(err, fmt.Errorf("--%s %s", name, says))
		}
	}
	if f.live && slices.Contains(f.features, "leases") {
		err = errors.Join(err, errors.New("--features has leases, which do not go with --live, because it has no clocks"))
	}
	return err
}

// bounds are those of a report.
func (f *exploreFlags) bounds() map[string]any {
	b := &f.options.Bounds
	bounds := map[string]any{
		"members": b.Members, "terms": b.Terms, "rounds": b.Beats, "ledger": b.Entries, "features": f.features, "lag": b.Lag, "leak": b.Leak,
	}
	if f.live {
		bounds["in_flight"], bounds["drops"] = f.budgets.InFlight, f.budgets.Drops
		bounds["duplicates"], bounds["restarts"] = f.budgets.Duplicates, f.budgets.Restarts
		bounds["inabilities"] = f.budgets.Inabilities
	}
	return bounds
}
