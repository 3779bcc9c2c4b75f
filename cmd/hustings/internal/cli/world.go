// The flags that describe a simulated world.

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/leases"
)

// worldFlags describe all worlds of a campaign.
type worldFlags struct {
	kind     string // voting or lease
	members  []int  // sizes of groups, in turn; empty: the seed draws one
	groups   []int  // how many a node has, in turn; empty: the seed draws it
	duration time.Duration
	timing   string // mixed, default or dledger
	faults   string
	leak     string // a number or mixed
	leases   string // on, off or mixed
	preVote  string // on, off or mixed
	ranks    string // on, off or mixed
	strict   string // on, off or mixed
	careless string // off, on or overlap

	set      simulation.FaultSet // faults, parsed for elections by votes
	leaseSet leases.FaultSet     // faults, parsed for elections by a lease
}

func (f *worldFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kind, "world", votingWorld, "the elections: voting, or lease (by a lease in a database)")
	flags.IntSliceVar(&f.members, "members", nil, "the `sizes` of groups, for one seed after another in turn (default: the seed draws them; with --world lease 3,5)")
	flags.IntSliceVar(&f.groups, "groups", nil, "the `numbers` of groups that a node has, for one seed after another in turn (default: the seed draws them, mostly 1, at most 64)")
	flags.DurationVar(&f.duration, "duration", 0, "the virtual `time` in which faults strike (default: 200 detection times, or less where these are long; with --world lease a minute)")
	flags.StringVar(&f.timing, "timing", mixed, "the intervals: default, dledger, or mixed (the seed draws them, default in every other seed)")
	flags.StringVar(&f.leak, "leak", mixed, "how many heartbeats may be missed: a `number`, or mixed (3 in most seeds, 2 to 100 in the others)")
	f.addSwitch(flags, &f.leases, "leases", "leaders hold leases: on, off, or mixed (on in every other seed)")
	f.addSwitch(flags, &f.preVote, "pre-vote", "candidates ask first whether they would win: on, off, or mixed (off in every eighth seed)")
	f.addSwitch(flags, &f.ranks, "ranks", "members take turns in standing: on, off, or mixed (off in every eighth seed)")
	flags.StringVar(&f.faults, "faults", "all", "a `list` of faults and classes of faults; -name leaves one out")
	flags.StringVar(&f.careless, "careless", simulation.Careful.String(), "engines break their promise, so that there is something to find: on (they accept every append), overlap (they forget what they have accepted), or off")
	flags.Lookup("careless").NoOptDefVal = simulation.CarelessAlways.String()
}

func (f *worldFlags) addSwitch(flags *pflag.FlagSet, to *string, name, usage string) {
	flags.StringVar(to, name, mixed, usage)
	flags.Lookup(name).NoOptDefVal = "on"
}

// switches are the values of a flag that turns something on and off.
var switches = map[string]simulation.Switch{mixed: simulation.EitherWay, "on": simulation.On, "off": simulation.Off}

// The kinds of worlds.
const (
	votingWorld = "voting"
	leaseWorld  = "lease"
	// These are played by sim --shell only.
	shellWorld      = "shell"
	shellLeaseWorld = "shell of leases"
)

var errCareless = errors.New("--careless needs --world voting, because a lease has no engine")

func (f *worldFlags) check() (err error) {
	switch f.kind {
	case votingWorld:
	case leaseWorld:
		return f.checkLease()
	default:
		return fmt.Errorf("--world is %q, want %s or %s", f.kind, votingWorld, leaseWorld)
	}
	for name, is := range map[string]string{"leases": f.leases, "pre-vote": f.preVote, "ranks": f.ranks} {
		if _, known := switches[is]; !known {
			return fmt.Errorf("--%s is %q, want on, off or mixed", name, is)
		}
	}
	if _, known := timings[f.timing]; !known {
		return fmt.Errorf("--timing is %q, want default, dledger or mixed", f.timing)
	}
	if len(f.members) > 0 && slices.Min(f.members) < 1 {
		return fmt.Errorf("--members is %v, want 1 or more", f.members)
	}
	if len(f.groups) > 0 && slices.Min(f.groups) < 1 {
		return fmt.Errorf("--groups is %v, want 1 or more", f.groups)
	}
	if f.kindOfEngine().String() != f.careless {
		return fmt.Errorf("--careless is %q, want on, overlap or off", f.careless)
	}
	if f.leak != mixed {
		leak, err := strconv.Atoi(f.leak)
		if err != nil {
			return fmt.Errorf("--leak is %q, want a number or %s", f.leak, mixed)
		}
		timing := elector.DefaultTiming()
		if timing.Leak = leak; timing.Validate(false) != nil {
			return fmt.Errorf("--leak: %w", timing.Validate(false))
		}
	}
	if f.set, err = simulation.ParseFaults(f.faults); err != nil {
		return fmt.Errorf("--faults: %w", err)
	}
	return nil
}

// kindOfEngine returns the kind that --careless names, or Careful.
func (f *worldFlags) kindOfEngine() simulation.Carelessness {
	for _, kind := range []simulation.Carelessness{simulation.CarelessAlways, simulation.CarelessOverlap} {
		if kind.String() == f.careless {
			return kind
		}
	}
	return simulation.Careful
}

// mixed leaves a setting to the seed.
const mixed = "mixed"

// timings are the values of --timing; for the zero timing the seed draws one.
var timings = map[string]elector.Timing{mixed: {}, "default": elector.DefaultTiming(), "dledger": elector.DLedgerTiming()}

// checkLease is check for elections by a lease.
func (f *worldFlags) checkLease() (err error) {
	switch {
	case f.strict != "on" && f.strict != "off" && f.strict != "mixed":
		return fmt.Errorf("--strict is %q, want on, off or mixed", f.strict)
	case f.careless != simulation.Careful.String():
		return errCareless
	case len(f.groups) > 0:
		return fmt.Errorf("--groups is %v, which needs --world voting", f.groups)
	case f.timing != mixed:
		return fmt.Errorf("--timing is %q, which needs --world voting", f.timing)
	}
	if len(f.members) == 0 {
		f.members = []int{3, 5}
	}
	if f.leaseSet, err = leases.ParseFaults(f.faults); err != nil {
		return fmt.Errorf("--faults: %w", err)
	}
	return nil
}

// leaseOptions returns the options that the flags decide for elections by a lease.
func (f *worldFlags) leaseOptions() leases.Options {
	return leases.Options{Duration: f.duration, Faults: f.leaseSet, Strict: f.strict == "on"}
}

// settings returns a command line that decides the same as the flags.
func (f *worldFlags) settings() string {
	if f.kind == leaseWorld {
		return fmt.Sprintf("--world %s --duration %v --faults %v --strict=%s", leaseWorld, f.duration, f.leaseSet, f.strict)
	}
	return fmt.Sprintf("--duration %v --timing %s --leak %s --faults %v --leases=%s --pre-vote=%s --ranks=%s --careless=%s",
		f.duration, f.timing, f.leak, f.set, f.leases, f.preVote, f.ranks, f.careless)
}

// replayLease returns the command line that replays one run of a lease.
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

// list joins numbers as in the value of a flag.
func list(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// turn returns the number whose turn it is, or 0 if the seed draws one.
func turn(numbers []int, seed uint64) int {
	if len(numbers) == 0 {
		return 0
	}
	return numbers[seed%uint64(len(numbers))]
}

// options returns the options of a seed, which draws everything that no flag decides.
func (f *worldFlags) options(seed uint64) simulation.Options {
	leak, _ := strconv.Atoi(f.leak) // 0 for mixed, as Draw expects
	o := simulation.Draw(seed, simulation.Fixed{
		Members: turn(f.members, seed), Groups: turn(f.groups, seed), Leak: leak, Timing: timings[f.timing], Duration: f.duration,
		Leases: switches[f.leases], PreVote: switches[f.preVote], Ranks: switches[f.ranks],
	})
	o.Faults, o.Careless = f.set, f.kindOfEngine()
	return o
}

// replay returns the command line that replays one run, with the same flags.
func (f *worldFlags) replay(o *simulation.Options) string {
	words := []string{fmt.Sprintf("hustings replay --seed %d", o.Seed)}
	if len(f.members) > 0 {
		words = append(words, fmt.Sprintf("--members %d", o.Members))
	}
	if len(f.groups) > 0 {
		words = append(words, fmt.Sprintf("--groups %d", o.Groups))
	}
	if f.duration != 0 {
		words = append(words, fmt.Sprintf("--duration %v", f.duration))
	}
	for _, flag := range [...]struct{ is, name, usual string }{
		{f.timing, "timing", mixed},
		{f.leak, "leak", mixed},
		{f.set.String(), "faults", simulation.DefaultFaults().String()},
		{f.leases, "leases", mixed},
		{f.preVote, "pre-vote", mixed},
		{f.ranks, "ranks", mixed},
		{f.careless, "careless", simulation.Careful.String()},
	} {
		if flag.is != flag.usual {
			words = append(words, fmt.Sprintf("--%s=%s", flag.name, flag.is))
		}
	}
	for _, b := range o.Branches {
		words = append(words, fmt.Sprintf("--branch %v:%d", b.At, b.Seed))
	}
	return strings.Join(words, " ")
}

// branchFlag collects branches, each written as "time:seed".
type branchFlag []simulation.Branch

// String returns nothing, because there is no default.
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

// Type names the value in help texts.
func (f *branchFlag) Type() string { return "time:seed" }
