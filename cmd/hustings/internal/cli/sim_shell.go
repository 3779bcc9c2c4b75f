// Whole hosts in bubbles of virtual time, as sim --shell plays them.

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

// shellSeeds are as many as are played in about half a minute on two cores.
const shellSeeds = 600

// shellFlags are those that --shell goes with. A seed draws everything else.
var shellFlags = []string{"shell", "seed", "seeds", "first", "shard", "until-failure", "careless", "json"}

// forShell sets what --shell implies, and refuses what it does not go with.
func (f *simFlags) forShell(flags *pflag.FlagSet) (err error) {
	f.again = flags.Changed("seed")
	if !f.shell {
		if f.again {
			return fmt.Errorf("--seed is for --shell; see one run of the others with: hustings replay --seed %d", f.seed)
		}
		return nil
	}
	f.world.kind = shellWorld
	flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(shellFlags, flag.Name) {
			err = fmt.Errorf("--%s is not for --shell, where the seed draws everything", flag.Name)
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
	if err == nil && f.careless() == "" {
		err = fmt.Errorf("--careless is %q, which is not for --shell: want on or off", f.world.careless)
	}
	return err
}

// careless is the flag as a word of a command line; empty if it is neither on nor off.
func (f *simFlags) careless() string {
	switch f.world.careless {
	case simulation.Careful.String():
		return "--careless=off"
	case simulation.CarelessAlways.String():
		return "--careless=on"
	}
	return ""
}

// shelling plays whole hosts. If there is a violation tell tells of it.
func (f *simFlags) shelling(ctx context.Context, stdout, stderr io.Writer) (r *simReport, tell func(*cobra.Command) error, err error) {
	// If a goroutine of a world panics, the process ends, and the trace names the seed.
	if err := os.Setenv("GODEBUG", strings.TrimPrefix(os.Getenv("GODEBUG")+",tracebacklabels=1", ",")); err != nil {
		return nil, nil, err
	}
	began, used := time.Now(), cpuTime()
	total := shell.NewSummary()
	if n, some := f.count(); some {
		bar := newSimBar(n, stderr)
		campaign := shell.Campaign{
			Count: n, UntilFailure: f.untilFailure || f.again, Seed: f.shellSeed, Careless: f.world.careless == simulation.CarelessAlways.String(),
			Progress: func(s *shell.Summary) { bar.show(s.Seeds, s.Messages, len(s.Failing)) },
		}
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

// shellSeed is the i-th seed.
func (f *simFlags) shellSeed(i uint64) uint64 {
	if f.again {
		return f.seed
	}
	return f.first + f.shard.seed(i)
}

func newShellReport(f *simFlags, s *shell.Summary, cpu, wall time.Duration) *simReport {
	r := &simReport{
		World: shellWorld, Seeds: s.Seeds, FirstSeed: f.shellSeed(0), Events: s.Messages, Virtual: s.Virtual.Seconds(), CPU: cpu.Seconds(),
		Elections: s.Elections, Violations: len(s.Failing), Failing: []uint64{}, Replay: []string{},
		Digest: fmt.Sprintf("%016x", 0), After: map[string]uint64{}, Faults: named(shell.Faults(), s.Struck), Invariants: named(shell.Invariants(), s.Checked),
		Conditions: named(shell.Conditions(), s.Met), Excused: map[string]uint64{}, Assumed: map[string]uint64{}, Told: map[string]uint64{},
		wall: wall, asked: map[string]bool{},
	}
	for _, fault := range shell.Faults() {
		r.asked[fault.String()] = true
	}
	for _, failing := range s.Failing {
		r.Failing = append(r.Failing, failing.Seed)
		r.Replay = append(r.Replay, fmt.Sprintf("hustings sim --shell %s --seed %d", f.careless(), failing.Seed))
		r.what = append(r.what, fmt.Sprintf("seed %d: %v", failing.Seed, failing.Violation))
	}
	r.follow()
	return r
}
