// The flags that say what one world is like, for those commands that play one.

package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/leases"
)

// worldFlags are what all worlds of a campaign have in common.
type worldFlags struct {
	kind     string // voting or lease
	duration time.Duration
	timing   string
	faults   string
	leak     string // a number or mixed
	leases   string // on, off or mixed
	strict   string // on, off or mixed
	careless string // off, on or overlap

	set      simulation.FaultSet // what faults stands for, where there are votes
	leaseSet leases.FaultSet     // and where there are leases
}

func (f *worldFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kind, "world", votingWorld, "elections by votes or by leases in a database: `voting` or lease")
	flags.DurationVar(&f.duration, "duration", time.Minute, "for how `long` faults strike, in virtual time")
	flags.StringVar(&f.timing, "timing", "default", "`default` or dledger")
	flags.StringVar(&f.faults, "faults", "all", "a `list` of faults and classes of faults, -name without one")
	flags.StringVar(&f.careless, "careless", simulation.Careful.String(), "engines break their promise, so that there is something to find: `on`, they accept every append, or overlap, they forget what they have accepted")
	flags.Lookup("careless").NoOptDefVal = simulation.CarelessAlways.String()
}

// The worlds that there are.
const (
	votingWorld = "voting"
	leaseWorld  = "lease"
	// By sim --shell alone.
	shellWorld      = "shell"
	shellLeaseWorld = "shell of leases"
)

var errCareless = errors.New("--careless is for --world voting: a lease has no engine")

func (f *worldFlags) check() (err error) {
	switch f.kind {
	case votingWorld:
	case leaseWorld:
		return f.checkLease()
	default:
		return fmt.Errorf("--world is %q, want %s or %s", f.kind, votingWorld, leaseWorld)
	}
	if f.leases != "on" && f.leases != "off" && f.leases != "mixed" {
		return fmt.Errorf("--leases is %q, want on, off or mixed", f.leases)
	}
	if f.timing != "default" && f.timing != "dledger" {
		return fmt.Errorf(`--timing is %q, want "default" or "dledger"`, f.timing)
	}
	if f.kindOfEngine().String() != f.careless {
		return fmt.Errorf("--careless is %q, want on, overlap or off", f.careless)
	}
	if leak, err := strconv.Atoi(f.leak); f.leak != mixedLeak && (err != nil || leak < 1) {
		return fmt.Errorf("--leak is %q, want a number from 1 on, or %s", f.leak, mixedLeak)
	}
	if f.set, err = simulation.ParseFaults(f.faults); err != nil {
		return fmt.Errorf("--faults: %w", err)
	}
	return nil
}

// kindOfEngine is what --careless names, or Careful.
func (f *worldFlags) kindOfEngine() simulation.Carelessness {
	for _, kind := range []simulation.Carelessness{simulation.CarelessAlways, simulation.CarelessOverlap} {
		if kind.String() == f.careless {
			return kind
		}
	}
	return simulation.Careful
}

// mixedLeak has the seed say how many heartbeats may be missed.
const mixedLeak = "mixed"

// withLeak sets how many heartbeats may be missed. Most users leave that at the default, and
// so do most seeds; in every fourth it is one from 2 to 12, which is less and far more than
// the heartbeats that a leader remembers.
func (f *worldFlags) withLeak(t elector.Timing, seed uint64) elector.Timing {
	if f.leak != mixedLeak {
		t.Leak, _ = strconv.Atoi(f.leak) // it was checked
	} else if turn := seed / 4; seed%4 == 2 {
		t.Leak = 2 + int(turn%11)
	}
	return t
}

// checkLease is check for the world of leases.
func (f *worldFlags) checkLease() (err error) {
	switch {
	case f.strict != "on" && f.strict != "off" && f.strict != "mixed":
		return fmt.Errorf("--strict is %q, want on, off or mixed", f.strict)
	case f.careless != simulation.Careful.String():
		return errCareless
	case f.timing != "default":
		return fmt.Errorf("--timing is %q, which is for --world voting", f.timing)
	}
	if f.leaseSet, err = leases.ParseFaults(f.faults); err != nil {
		return fmt.Errorf("--faults: %w", err)
	}
	return nil
}

// leaseOptions are those that the flags decide, where there are leases.
func (f *worldFlags) leaseOptions() leases.Options {
	return leases.Options{Duration: f.duration, Faults: f.leaseSet, Strict: f.strict == "on"}
}

// settings are the flags as a command line that decides the same.
func (f *worldFlags) settings() string {
	if f.kind == leaseWorld {
		return fmt.Sprintf("--world %s --duration %v --faults %v --strict=%s", leaseWorld, f.duration, f.leaseSet, f.strict)
	}
	return fmt.Sprintf("--duration %v --timing %s --leak %s --faults %v --leases=%s --careless=%s", f.duration, f.timing, f.leak, f.set, f.leases, f.careless)
}

// replayLease is the command line that plays one run of a lease again.
func replayLease(o *leases.Options) string {
	words := fmt.Sprintf("hustings replay --world %s --seed %d --members %d --duration %v", leaseWorld, o.Seed, o.Candidates, o.Duration)
	if o.Faults != leases.DefaultFaults() {
		words += " --faults " + o.Faults.String()
	}
	if o.Strict {
		words += " --strict"
	}
	return words
}

// options are those that the flags decide.
func (f *worldFlags) options() simulation.Options {
	o := simulation.Options{Duration: f.duration, Faults: f.set, Careless: f.kindOfEngine(), Leases: f.leases == "on", Timing: elector.DefaultTiming()}
	if f.timing == "dledger" {
		o.Timing = elector.DLedgerTiming()
	}
	return o
}

// replayCommand is the command line that plays one run again.
func replayCommand(o simulation.Options) string {
	words := []string{"hustings replay", fmt.Sprintf("--seed %d --members %d --duration %v", o.Seed, o.Members, o.Duration)}
	if o.Timing.Heartbeat == elector.DLedgerTiming().Heartbeat {
		words = append(words, "--timing dledger")
	}
	if o.Timing.Leak != elector.DefaultTiming().Leak {
		words = append(words, fmt.Sprintf("--leak %d", o.Timing.Leak))
	}
	if o.Faults != 0 && o.Faults != simulation.DefaultFaults() {
		words = append(words, "--faults "+o.Faults.String())
	}
	if o.Leases {
		words = append(words, "--leases")
	}
	if o.Careless != simulation.Careful {
		words = append(words, "--careless="+o.Careless.String())
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
