// The flags that say what one world is like, for those commands that play one.

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/simulation"
)

// worldFlags are what all worlds of a campaign have in common.
type worldFlags struct {
	duration time.Duration
	timing   string
	faults   string
	leases   string // on, off or mixed
	careless bool

	set simulation.FaultSet // what faults stands for
}

func (f *worldFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.duration, "duration", time.Minute, "for how `long` faults strike, in virtual time")
	flags.StringVar(&f.timing, "timing", "default", "`default` or dledger")
	flags.StringVar(&f.faults, "faults", "all", "a `list` of faults and classes of faults, -name without one")
	flags.BoolVar(&f.careless, "careless", false, "engines break their promise, so that there is something to find")
}

func (f *worldFlags) check() (err error) {
	if f.leases != "on" && f.leases != "off" && f.leases != "mixed" {
		return fmt.Errorf("--leases is %q, want on, off or mixed", f.leases)
	}
	if f.timing != "default" && f.timing != "dledger" {
		return fmt.Errorf(`--timing is %q, want "default" or "dledger"`, f.timing)
	}
	if f.set, err = simulation.ParseFaults(f.faults); err != nil {
		return fmt.Errorf("--faults: %w", err)
	}
	return nil
}

// options are those that the flags decide.
func (f *worldFlags) options() simulation.Options {
	o := simulation.Options{Duration: f.duration, Faults: f.set, Careless: f.careless, Leases: f.leases == "on"}
	if f.timing == "dledger" {
		o.Timing = elector.DLedgerTiming()
	}
	return o
}

// replayCommand is the command line that plays one run again.
func replayCommand(o simulation.Options) string {
	words := []string{"hustings replay", fmt.Sprintf("--seed %d --members %d --duration %v", o.Seed, o.Members, o.Duration)}
	if o.Timing == elector.DLedgerTiming() {
		words = append(words, "--timing dledger")
	}
	if o.Faults != 0 && o.Faults != simulation.DefaultFaults() {
		words = append(words, "--faults "+o.Faults.String())
	}
	if o.Leases {
		words = append(words, "--leases")
	}
	if o.Careless {
		words = append(words, "--careless")
	}
	for _, b := range o.Branches {
		words = append(words, fmt.Sprintf("--branch %v:%d", b.At, b.Seed))
	}
	return strings.Join(words, " ")
}

// branchFlag collects branches, as "time:seed".
type branchFlag []simulation.Branch

// String, Set and Type make it a flag.
func (f *branchFlag) String() string { return "" }

// Set reads one branch.
func (f *branchFlag) Set(text string) error {
	at, seed, ok := strings.Cut(text, ":")
	when, err := time.ParseDuration(at)
	number, err2 := strconv.ParseUint(seed, 10, 64)
	if !ok || err != nil || err2 != nil {
		return fmt.Errorf("want a time and a seed, such as 3.5s:17")
	}
	*f = append(*f, simulation.Branch{At: when, Seed: number})
	return nil
}

// Type names what it is.
func (f *branchFlag) Type() string { return "time:seed" }
