// sim --shell: whole hosts, or whole keepers of leases, in bubbles of virtual time.

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/shell"
)

// shellSeeds take about half a minute on two cores.
const shellSeeds = 600

// shellFlags are the flags that --shell allows. The seed draws everything else.
var shellFlags = []string{"shell", "world", "seed", "seeds", "first", "shard", "until-failure", "careless", "json"}

// forShell applies --shell, and refuses flags that it does not allow.
func (f *simFlags) forShell(flags *pflag.FlagSet) (err error) {
	f.again = flags.Changed("seed")
	if !f.shell {
		if f.again {
			return fmt.Errorf("--seed needs --shell; without it, see one run with: hustings replay --seed %d", f.seed)
		}
		return nil
	}
	switch f.world.kind {
	case votingWorld:
		f.world.kind = shellWorld
	case leaseWorld:
		f.world.kind = shellLeaseWorld
	default:
		return f.world.check()
	}
	flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(shellFlags, flag.Name) {
			err = fmt.Errorf("--shell does not allow --%s, because the seed draws everything", flag.Name)
		}
	})
	switch {
	case flags.Changed("seeds"):
	case f.again:
		f.seeds = 1
	default:
		f.seeds = shellSeeds
	}
	if f.again && (flags.Changed("first") || flags.Changed("shard")) {
		return fmt.Errorf("--seed %d plays one world; leave out --first and --shard", f.seed)
	}
	if f.world.kind == shellLeaseWorld && flags.Changed("careless") {
		return errCareless
	}
	if err == nil && f.careless() == "" {
		err = fmt.Errorf("--careless is %q, want on or off with --shell", f.world.careless)
	}
	return err
}

// careless returns the flag as part of a command line; empty if it is neither on nor off.
func (f *simFlags) careless() string {
	switch f.world.careless {
	case simulation.Careful.String():
		return "--careless=off"
	case simulation.CarelessAlways.String():
		return "--careless=on"
	}
	return ""
}

// playShells plays whole hosts, or keepers of leases. tell makes an error of the violations.
func (f *simFlags) playShells(ctx context.Context, stdout, stderr io.Writer) (r *simReport, tell func(*cobra.Command) error, err error) {
	// If a goroutine of a world panics, the process ends; labels have the trace name the seed.
	if err := os.Setenv("GODEBUG", strings.TrimPrefix(os.Getenv("GODEBUG")+",tracebacklabels=1", ",")); err != nil {
		return nil, nil, err
	}
	began, used := time.Now(), cpuTime()
	total := shell.NewSummary()
	if n, some := f.count(); some {
		bar := newSimBar(n, stderr)
		campaign := f.shellCampaign(n)
		campaign.Progress = func(s *shell.Summary) { bar.show(s.Seeds, s.Messages, len(s.Failing)) }
		if f.again && n == 1 && !f.asJSON {
			campaign.Tell = func(line string) { fmt.Fprintln(stdout, line) }
		}
		total, err = campaign.Run(ctx)
		bar.finish()
		if err != nil {
			return nil, nil, err
		}
	}
	r = newShellReport(f, total, cpuTime()-used, time.Since(began))
	r.ended(f, ctx.Err() != nil)
	return r, func(*cobra.Command) error {
		first := total.Failing[0]
		return fmt.Errorf("%d of %d runs violated an invariant; the first one, of seed %d:\n%s\n%w\nsee it again, or another course of this world, with: %s --seeds 100",
			len(total.Failing), total.Seeds, first.Seed, strings.Join(first.Violation.Story, "\n"), first.Violation, r.Replay[0])
	}, nil
}

// shellCampaign plays so many worlds, or without end if it is 0.
func (f *simFlags) shellCampaign(count uint64) *shell.Campaign {
	return &shell.Campaign{
		Kind: kindOfShell(f.world.kind), Count: count, UntilFailure: f.untilFailure || f.again, Seed: f.shellSeed,
		Careless: f.world.careless == simulation.CarelessAlways.String(),
	}
}

// shellSeed returns the i-th seed.
func (f *simFlags) shellSeed(i uint64) uint64 {
	if f.again {
		return f.seed
	}
	return f.first + f.shard.seed(i)
}

// kindOfShell returns how the members of a world of --shell elect.
func kindOfShell(world string) shell.Kind {
	if world == shellLeaseWorld {
		return shell.Leases
	}
	return shell.Votes
}

// isShell reports whether --shell plays a world.
func isShell(world string) bool { return world == shellWorld || world == shellLeaseWorld }

// shellSettings returns the flags that decide what a seed of --shell means.
func (f *simFlags) shellSettings() string {
	if f.world.kind == shellLeaseWorld {
		return "--shell --world " + leaseWorld
	}
	return "--shell " + f.careless()
}

func newShellReport(f *simFlags, s *shell.Summary, cpu, wall time.Duration) *simReport {
	kind := kindOfShell(f.world.kind)
	r := &simReport{
		World: f.world.kind, Seeds: s.Seeds, FirstSeed: f.shellSeed(0), Events: s.Messages, Virtual: s.Virtual.Seconds(), CPU: cpu.Seconds(),
		Elections: s.Elections, Violations: len(s.Failing), Failing: []uint64{}, Replay: []string{},
		Digest: fmt.Sprintf("%016x", 0), After: map[string]uint64{}, Faults: named(kind.Faults(), s.Struck), Invariants: named(kind.Invariants(), s.Checked),
		Conditions: named(kind.Conditions(), s.Met), Excused: map[string]uint64{}, Assumed: map[string]uint64{}, Told: map[string]uint64{},
		wall: wall, asked: map[string]bool{},
	}
	for _, fault := range kind.Faults() {
		r.asked[fault.String()] = true
	}
	for _, failing := range s.Failing {
		r.Failing = append(r.Failing, failing.Seed)
		r.Replay = append(r.Replay, fmt.Sprintf("hustings sim %s --seed %d", f.shellSettings(), failing.Seed))
		r.what = append(r.what, fmt.Sprintf("seed %d: %v", failing.Seed, failing.Violation))
	}
	r.follow()
	return r
}
