// The flags that say what one world is like, for those commands that play one.

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

// worldFlags are what all worlds of a campaign have in common.
type worldFlags struct {
	kind     string // voting or lease
	members  []int  // sizes of groups, in turn; none: the seed draws them
	groups   []int  // how many a node has, in turn; none: the seed draws it
	duration time.Duration
	timing   string // mixed, default or dledger
	faults   string
	leak     string // a number or mixed
	leases   string // on, off or mixed
	preVote  string // on, off or mixed
	ranks    string // on, off or mixed
	strict   string // on, off or mixed
	careless string // off, on or overlap

	set      simulation.FaultSet // what faults stands for, where there are votes
	leaseSet leases.FaultSet     // and where there are leases
}

func (f *worldFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kind, "world", votingWorld, "elections by votes or by leases in a database: `voting` or lease")
	flags.IntSliceVar(&f.members, "members", nil, "the `sizes` of the groups, in turn; else they are drawn, and with --world lease 3 and 5")
	flags.IntSliceVar(&f.groups, "groups", nil, "the `numbers` of groups that a node has, in turn; else they are drawn: one in most seeds, and up to 64")
	flags.DurationVar(&f.duration, "duration", 0, "for how `long` faults strike, in virtual time; 0: 200 detection times, or less where these are long, and a minute with --world lease")
	flags.StringVar(&f.timing, "timing", mixed, "the intervals: `default`, dledger, or mixed, which is any in every other seed")
	flags.StringVar(&f.leak, "leak", mixed, "how many heartbeats may be missed: a `number`, or mixed, which is 3 in most seeds and 2 to 100 in others")
	f.addSwitch(flags, &f.leases, "leases", "leaders hold leases: `on`, off, or mixed, which is every other seed")
	f.addSwitch(flags, &f.preVote, "pre-vote", "candidates ask whether they would win: `on`, off, or mixed, which is off in every eighth seed")
	f.addSwitch(flags, &f.ranks, "ranks", "members take turns in standing: `on`, off, or mixed, which is off in every eighth seed")
	flags.StringVar(&f.faults, "faults", "all", "a `list` of faults and classes of faults, -name without one")
	flags.StringVar(&f.careless, "careless", simulation.Careful.String(), "engines break their promise, so that there is something to find: `on`, they accept every append, or overlap, they forget what they have accepted")
	flags.Lookup("careless").NoOptDefVal = simulation.CarelessAlways.String()
}

func (f *worldFlags) addSwitch(flags *pflag.FlagSet, to *string, name, usage string) {
	flags.StringVar(to, name, mixed, usage)
	flags.Lookup(name).NoOptDefVal = "on"
}

// switches are what a flag that turns something on and off may say.
var switches = map[string]simulation.Switch{mixed: simulation.EitherWay, "on": simulation.On, "off": simulation.Off}

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

// kindOfEngine is what --careless names, or Careful.
func (f *worldFlags) kindOfEngine() simulation.Carelessness {
	for _, kind := range []simulation.Carelessness{simulation.CarelessAlways, simulation.CarelessOverlap} {
		if kind.String() == f.careless {
			return kind
		}
	}
	return simulation.Careful
}

// mixed has the seed say what something is.
const mixed = "mixed"

// timings are those that have a name; with the zero timing the seed draws it.
var timings = map[string]elector.Timing{mixed: {}, "default": elector.DefaultTiming(), "dledger": elector.DLedgerTiming()}

// checkLease is check for the world of leases.
func (f *worldFlags) checkLease() (err error) {
	switch {
	case f.strict != "on" && f.strict != "off" && f.strict != "mixed":
		return fmt.Errorf("--strict is %q, want on, off or mixed", f.strict)
	case f.careless != simulation.Careful.String():
		return errCareless
	case len(f.groups) > 0:
		return fmt.Errorf("--groups is %v, which is for --world voting", f.groups)
	case f.timing != mixed:
		return fmt.Errorf("--timing is %q, which is for --world voting", f.timing)
	}
	if len(f.members) == 0 {
		f.members = []int{3, 5}
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
	return fmt.Sprintf("--duration %v --timing %s --leak %s --faults %v --leases=%s --pre-vote=%s --ranks=%s --careless=%s",
		f.duration, f.timing, f.leak, f.set, f.leases, f.preVote, f.ranks, f.careless)
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

// list is a list of numbers as a flag has it.
func list(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// turn is the number whose turn it is; 0: it is drawn.
func turn(numbers []int, seed uint64) int {
	if len(numbers) == 0 {
		return 0
	}
	return numbers[seed%uint64(len(numbers))]
}

// options are those of a seed, which draws what no flag decides.
func (f *worldFlags) options(seed uint64) simulation.Options {
	leak, _ := strconv.Atoi(f.leak) // 0 for mixed, which is what Draw has for it
	o := simulation.Draw(seed, simulation.Fixed{
		Members: turn(f.members, seed), Groups: turn(f.groups, seed), Leak: leak, Timing: timings[f.timing], Duration: f.duration,
		Leases: switches[f.leases], PreVote: switches[f.preVote], Ranks: switches[f.ranks],
	})
	o.Faults, o.Careless = f.set, f.kindOfEngine()
	return o
}

// replay is the command line that plays one run again: it has the same flags.
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
