// Trying to break elections in simulated worlds.

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/hustings/hustings/simulation"
)

// simFlags say what is simulated, and how much of it.
type simFlags struct {
	world                worldFlags
	seeds, first         uint64
	shard                shardFlag
	untilFailure, guided bool
	shell                bool
	seed                 uint64 // with shell: the only one to play
	again                bool   // seed was given
	asJSON               bool
	out                  string
}

func newSim() *cobra.Command { return new(simFlags).command() }

func (f *simFlags) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Try to break elections in simulated worlds",
		Long: `Try to break elections in simulated worlds: the shipped code runs on a virtual network,
virtual disks and virtual clocks, which fail in the ways that real ones do. Every seed is
another world, and the same seed is always the same world. All invariants are checked
after every event. If one does not hold, the command fails: it shrinks the run, writes it
to a folder as a scenario, a text and a picture, and prints the command that replays it.

Exit codes: 0 all seeds were played, 1 an invariant did not hold or something failed, 2 the
command line is wrong, 3 interrupted before the end, with nothing wrong so far.

--world lease plays elections by a lease: a database with slow commits, lost answers and
a clock that steps, and candidates that pause, crash, and are cut off. Such a run is
replayed by its seed; it is not shrunk, and has no picture.

--shell runs whole hosts in virtual time, with their goroutines, timers, stores and calls
of engines; --shell --world lease runs whole keepers of leases. The seed draws everything:
nodes, groups, timings, faults. It does not decide in which order goroutines run, so a
violation is printed with its history, and --seed S plays that world again, perhaps by
another course.`,
		Example: `  hustings sim
  hustings sim --seeds 100000 --members 3,5,7 --leases      # the seed draws what no flag decides
  hustings sim --groups 2,8,64                              # many groups share a node's disk and its links
  hustings sim --faults network,crash,-loss
  hustings sim --guided --until-failure
  hustings sim --world lease --members 2,5
  hustings sim --shell
  hustings sim --shell --world lease
  hustings sim --careless                    # show how a violation looks`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.seeds, "seeds", defaultSeeds, fmt.Sprintf("the `number` of worlds; with --careless=on the default is %d", carelessSeeds))
	flags.Uint64Var(&f.first, "first", 0, "the first `seed`")
	f.world.add(flags)
	f.world.addSwitch(flags, &f.world.strict, "strict", "with --world lease, candidates do not trust the database's clock: on, off, or mixed (on in every other round of --members)")
	flags.Var(&f.shard, "shard", "play one part of the seeds: `i/n`, i from 0 to n-1")
	flags.BoolVar(&f.untilFailure, "until-failure", false, "play all seeds from --first on, until an invariant does not hold")
	flags.BoolVar(&f.guided, "guided", false, "prefer variations of runs that reached something new to fresh seeds")
	flags.BoolVar(&f.shell, "shell", false, "run whole hosts, with all their goroutines, in virtual time")
	flags.Uint64Var(&f.seed, "seed", 0, "with --shell, play only this `seed`: --seeds times or until an invariant does not hold; played once, its events are printed")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object on one line")
	flags.StringVar(&f.out, "out", ".", "the `folder` that a violation is written to, in a folder of its own")
	return cmd
}

// defaultSeeds take about a minute and a half on two cores. carelessSeeds are enough to find
// a violation with engines that break their promise.
const defaultSeeds, carelessSeeds = 8_000, 500

func (f *simFlags) run(cmd *cobra.Command) error {
	if f.world.kindOfEngine() == simulation.CarelessAlways && !f.shell && !cmd.Flags().Changed("seeds") {
		f.seeds = carelessSeeds
	}
	if err := cmp.Or(f.forShell(cmd.Flags()), f.check()); err != nil {
		return usageError{err}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	play := f.playVotes
	switch f.world.kind {
	case leaseWorld:
		play = f.playLeases
	case shellWorld, shellLeaseWorld:
		play = func(ctx context.Context, stderr io.Writer) (*simReport, func(*cobra.Command) error, error) {
			return f.playShells(ctx, cmd.OutOrStdout(), stderr)
		}
	}
	report, tell, err := play(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = report.print(cmd.OutOrStdout())
	}
	switch {
	case err != nil:
		return err
	case report.Violations > 0:
		stop() // the next interrupt ends the shrinking
		return tell(cmd)
	case !report.Complete:
		return unfinishedError{fmt.Errorf("not complete: %s", report.Stopped)}
	}
	return nil
}

// playVotes plays elections by votes. tell makes an error of the violations.
func (f *simFlags) playVotes(ctx context.Context, stderr io.Writer) (r *simReport, tell func(*cobra.Command) error, err error) {
	began, used := time.Now(), cpuTime()
	total, err := f.campaign(ctx, stderr)
	if err != nil {
		return nil, nil, err
	}
	r = newSimReport(f, total, cpuTime()-used, time.Since(began))
	r.ended(f, ctx.Err() != nil)
	return r, func(cmd *cobra.Command) error { return f.tellFailure(cmd, total) }, nil
}

// tellFailure shrinks the first violation, writes it to files, and says how to replay it.
func (f *simFlags) tellFailure(cmd *cobra.Command, total *simulation.Summary) error {
	failing := total.Failing[0]
	o := f.world.options(failing.Seed)
	o.Branches = failing.Branches
	told := fmt.Errorf("%d of %d runs broke an election; the first one: %w\nsee it with: %s",
		len(total.Failing), total.Seeds, failing.Violation, f.world.replay(&o))
	folder, err := f.world.writeViolation(cmd, f.out, o)
	if err != nil {
		return errors.Join(told, err)
	}
	return fmt.Errorf("%w\nshrunk, and written to %s: see picture.html", told, folder)
}

func (f *simFlags) check() error {
	if f.shell {
		return nil // forShell has checked the flags
	}
	if f.guided && f.world.kind == leaseWorld {
		return errors.New("--guided needs --world voting")
	}
	return f.world.check()
}

// settings returns the flags that decide what a seed means.
func (f *simFlags) settings() string {
	if f.again {
		return fmt.Sprintf("%s --seed %d", f.shellSettings(), f.seed)
	}
	if f.shell {
		return f.shellSettings()
	}
	words := f.world.settings()
	if len(f.world.groups) > 0 {
		words = fmt.Sprintf("--groups %s %s", list(f.world.groups), words)
	}
	if len(f.world.members) > 0 {
		words = fmt.Sprintf("--members %s %s", list(f.world.members), words)
	}
	if f.guided {
		words += " --guided"
	}
	return words
}

// part returns the seeds to play; false if there are none.
func (f *simFlags) part() (p part, some bool) {
	p = part{First: f.first, Seeds: f.seeds, Shard: f.shard}
	if f.untilFailure {
		p.Seeds = 0
	}
	return p, f.untilFailure || f.seeds > 0
}

// campaignGC is the garbage collector's target while a campaign runs, high because a
// campaign lives on a few megabytes and leaves much garbage.
const campaignGC = 400

// campaign plays the seeds on all cores, until it is interrupted or, with --until-failure,
// has found a violation.
func (f *simFlags) campaign(ctx context.Context, stderr io.Writer) (*simulation.Summary, error) {
	count, some := f.count()
	if !some {
		return simulation.NewSummary(), nil
	}
	bar := newSimBar(count, stderr)
	defer bar.finish()
	campaign := simulation.Campaign{
		Count: count, Guided: f.guided, UntilFailure: f.untilFailure,
		Options:  func(i uint64) simulation.Options { return f.world.options(f.first + f.shard.seed(i)) },
		Progress: func(s *simulation.Summary) { bar.show(s.Seeds, s.Events, len(s.Failing)) },
	}
	return campaign.Run(ctx)
}

// count returns how many seeds are played, 0 for no end, and whether there are any.
func (f *simFlags) count() (seeds uint64, some bool) {
	if f.untilFailure {
		return 0, true
	}
	seeds = f.shard.of(f.seeds)
	return seeds, seeds > 0
}

// simBar shows the progress of a campaign.
type simBar struct {
	*progressbar.ProgressBar
	began time.Time
	gc    int // the garbage collector's previous target
}

func newSimBar(count uint64, stderr io.Writer) *simBar {
	visible := int64(count)
	if count == 0 {
		visible = -1
	}
	return &simBar{progressbar.NewOptions64(visible, progressbar.OptionSetWriter(stderr), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("seeds"), progressbar.OptionThrottle(200*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(isTerminal(stderr)), progressbar.OptionSetPredictTime(true)), time.Now(), debug.SetGCPercent(campaignGC)}
}

func (b *simBar) show(seeds, events uint64, failing int) {
	b.Describe(fmt.Sprintf("%.1f M events/s, %d violations", float64(events)/1e6/time.Since(b.began).Seconds(), failing))
	_ = b.Set64(int64(seeds)) // it only draws
}

func (b *simBar) finish() {
	debug.SetGCPercent(b.gc)
	_ = b.Finish()
}

// shardFlag is one part of a campaign that runs on several machines.
type shardFlag struct{ index, count uint64 }

// String is the form that Set reads; empty if there are no shards.
func (s *shardFlag) String() string {
	if s.count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.index, s.count)
}

// Set reads "i/n".
func (s *shardFlag) Set(text string) error {
	var rest string
	n, _ := fmt.Sscanf(text+" .", "%d/%d %s", &s.index, &s.count, &rest)
	if n != 3 || rest != "." || s.index >= s.count {
		return errors.New("want i/n with i from 0 to n-1, such as 0/10")
	}
	return nil
}

// Type names the value in help texts.
func (s *shardFlag) Type() string { return "i/n" }

// of returns how many of the seeds are in the shard.
func (s *shardFlag) of(seeds uint64) uint64 {
	if s.count == 0 {
		return seeds
	}
	return (seeds + s.count - 1 - s.index) / s.count
}

// MarshalText writes the shard to JSON.
func (s *shardFlag) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the output of MarshalText.
func (s *shardFlag) UnmarshalText(text []byte) error { return s.Set(string(text)) }

// seed returns the i-th seed of the shard.
func (s *shardFlag) seed(i uint64) uint64 { return i*max(s.count, 1) + s.index }
