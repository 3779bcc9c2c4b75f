// The report of a campaign, for people and as JSON.

package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/leases"
)

// simReport can be added up, because every figure that is not a sum follows from the sums.
type simReport struct {
	World      string            `json:"world,omitempty"` // empty: elections by votes
	Settings   string            `json:"settings"`
	Covers     []part            `json:"covers"`
	Complete   bool              `json:"complete"`
	Stopped    string            `json:"stopped,omitempty"`
	Seeds      uint64            `json:"seeds"`
	FirstSeed  uint64            `json:"first_seed"`
	Events     uint64            `json:"events"`
	Virtual    float64           `json:"virtual_seconds"`
	CPU        float64           `json:"cpu_seconds"`
	PerCPU     float64           `json:"events_per_cpu_second"`
	Elections  uint64            `json:"elections"`
	Violations int               `json:"violations"`
	Failing    []uint64          `json:"failing_seeds"`
	Replay     []string          `json:"replay"`
	Digest     string            `json:"digest"`
	P50        float64           `json:"leader_p50_detections"`
	P99        float64           `json:"leader_p99_detections"`
	After      map[string]uint64 `json:"leader_after"`    // counts, by milliseconds
	Detection  float64           `json:"detection_times"` // milliseconds in a detection time; for leases, in a TTL
	States     int               `json:"states,omitempty"`
	Faults     map[string]uint64 `json:"faults"`
	Invariants map[string]uint64 `json:"invariants"`
	Conditions map[string]uint64 `json:"conditions"`
	Worlds     map[string]uint64 `json:"worlds,omitempty"` // counts, by trait
	Excused    map[string]uint64 `json:"excused"`
	Assumed    map[string]uint64 `json:"assumptions_broken"`
	Told       map[string]uint64 `json:"assumptions_told"`

	wall  time.Duration
	asked map[string]bool // the faults that could strike
	what  []string        // a line for each failing run
}

func newSimReport(f *simFlags, s *simulation.Summary, cpu, wall time.Duration) *simReport {
	r := &simReport{
		Seeds: s.Seeds, FirstSeed: f.first, Events: s.Events, Virtual: s.Virtual, CPU: cpu.Seconds(),
		Elections: s.Elections, Violations: len(s.Failing), Failing: []uint64{}, Replay: []string{}, States: s.States,
		Digest: fmt.Sprintf("%016x", s.Digest), Detection: 1000, After: map[string]uint64{},
		Faults: named(simulation.Faults(), s.Struck), Invariants: named(invariant.All(), s.Checked),
		Conditions: named(simulation.Conditions(), s.Met), Worlds: named(simulation.Traits(), s.Worlds), Excused: named(nil, s.Excused),
		Assumed: named(nil, s.Assumed), Told: named(nil, s.Told), wall: wall, asked: map[string]bool{},
	}
	for _, fault := range simulation.Faults() {
		r.asked[fault.String()] = f.world.set.Has(fault)
	}
	for took, n := range s.Converged {
		r.After[strconv.FormatUint(took, 10)] += n
	}
	for _, failing := range s.Failing {
		o := f.world.options(failing.Seed)
		o.Branches = failing.Branches
		r.Failing, r.Replay = append(r.Failing, failing.Seed), append(r.Replay, f.world.replay(&o))
		r.what = append(r.what, fmt.Sprintf("seed %d: %v", failing.Seed, failing.Violation))
	}
	r.follow()
	return r
}

// named returns counts by name, with a zero for each of all that was never counted.
func named[K interface {
	comparable
	fmt.Stringer
}](all []K, counts map[K]uint64) map[string]uint64 {
	m := map[string]uint64{}
	for _, k := range all {
		m[k.String()] = 0
	}
	for k, n := range counts {
		m[k.String()] = n
	}
	return m
}

// follow computes the figures that follow from the sums.
func (r *simReport) follow() {
	r.PerCPU = float64(r.Events) / max(r.CPU, 1e-9)
	r.P50, r.P99 = r.quantile(0.5), r.quantile(0.99)
}

// quantile returns how long healed majorities took to elect a leader, in detection times.
func (r *simReport) quantile(q float64) float64 {
	var times []int
	var all, seen uint64
	for ms, n := range r.After {
		t, _ := strconv.Atoi(ms) // always a number
		times = append(times, t)
		all += n
	}
	slices.Sort(times)
	for _, t := range times {
		if seen += r.After[strconv.Itoa(t)]; float64(seen) >= q*float64(all) {
			return math.Round(float64(t)/r.Detection*100) / 100
		}
	}
	return 0
}

// ended notes which seeds were to be played, and whether all of them were.
func (r *simReport) ended(f *simFlags, interrupted bool) {
	r.Settings = f.settings()
	if p, some := f.part(); some {
		r.Covers = append(r.Covers, p)
	}
	count, some := f.count()
	all := !some || count > 0 && r.Seeds >= count
	found := f.untilFailure && r.Violations > 0
	if r.Complete = all || found || !interrupted; r.Complete {
		return
	}
	r.Stopped = fmt.Sprintf("interrupted after %d seeds", r.Seeds)
	if count > 0 {
		r.Stopped = fmt.Sprintf("interrupted after %d of %d seeds", r.Seeds, count)
	}
	if f.shard.count > 0 {
		r.Stopped = fmt.Sprintf("shard %v was %s", &f.shard, r.Stopped)
	}
}

// add adds the report of a file.
func (r *simReport) add(o *simReport, file string) error {
	if err := r.fits(o); err != nil {
		return err
	}
	for _, p := range o.Covers {
		var err error
		p.from = file
		if r.Covers, err = enter(r.Covers, p); err != nil {
			return err
		}
	}
	r.sum(o)
	if !o.Complete {
		r.Complete = false
		if r.Stopped != "" {
			r.Stopped += "; "
		}
		r.Stopped += fmt.Sprintf("%s: %s", file, o.Stopped)
	}
	return nil
}

// fits returns an error if a report is inconsistent or belongs to another campaign.
func (r *simReport) fits(o *simReport) error {
	if _, err := strconv.ParseUint(o.Digest, 16, 64); err != nil {
		return fmt.Errorf("digest is %q, want 16 hexadecimal digits", o.Digest)
	}
	switch {
	case o.Violations != len(o.Failing) || o.Violations != len(o.Replay):
		return fmt.Errorf("violations is %d, with %d failing_seeds and %d commands in replay", o.Violations, len(o.Failing), len(o.Replay))
	case o.Seeds > 0 && len(o.Covers) == 0:
		return errors.New("covers is empty: it does not say which seeds were played")
	case len(r.Covers) > 0 && len(o.Covers) > 0 && r.Settings != o.Settings:
		return fmt.Errorf("these are two campaigns: %s, and %s in %s", o.Settings, r.Settings, r.Covers[0].from)
	}
	return nil
}

// sum adds another report's figures.
func (r *simReport) sum(o *simReport) {
	mine, _ := strconv.ParseUint(r.Digest, 16, 64) // empty in the first
	theirs, _ := strconv.ParseUint(o.Digest, 16, 64)
	r.Digest = fmt.Sprintf("%016x", mine+theirs)
	if r.Seeds == 0 {
		r.FirstSeed, r.World, r.Settings = o.FirstSeed, o.World, o.Settings
	}
	r.FirstSeed, r.Detection = min(r.FirstSeed, o.FirstSeed), max(r.Detection, o.Detection)
	r.Seeds += o.Seeds
	r.Events += o.Events
	r.Virtual += o.Virtual
	r.CPU += o.CPU
	r.Elections += o.Elections
	r.Violations += o.Violations
	r.Failing, r.Replay = append(r.Failing, o.Failing...), append(r.Replay, o.Replay...)
	r.States = max(r.States, o.States)
	for _, sum := range []struct{ to, from *map[string]uint64 }{
		{&r.After, &o.After},
		{&r.Faults, &o.Faults},
		{&r.Invariants, &o.Invariants},
		{&r.Conditions, &o.Conditions},
		{&r.Worlds, &o.Worlds},
		{&r.Excused, &o.Excused},
		{&r.Assumed, &o.Assumed},
		{&r.Told, &o.Told},
	} {
		if *sum.to == nil {
			*sum.to = map[string]uint64{}
		}
		for k, n := range *sum.from {
			(*sum.to)[k] += n
		}
	}
	r.follow()
}

// print writes the report for people.
func (r *simReport) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d seeds from %d, %.0f hours of virtual time", r.Seeds, r.FirstSeed, r.Virtual/3600)
	if r.wall > 0 {
		fmt.Fprintf(w, " in %v, %.0f times as fast as real time", r.wall.Round(10*time.Millisecond), r.Virtual/r.wall.Seconds())
	}
	r.printEvents(w)
	if r.States > 0 {
		fmt.Fprintf(w, "%d states were reached\n", r.States)
	}
	fmt.Fprintf(w, "\n")
	r.printTable(w)
	r.printWorlds(w)
	r.printAssumptions(w)
	r.printMissing(w)
	if !isShell(r.World) { // whose runs take another course each time
		fmt.Fprintf(w, "digest %s\n", r.Digest)
	}
	for i, line := range r.what {
		if i == mostTold {
			fmt.Fprintf(w, "and %d more\n", len(r.what)-i)
			break
		}
		fmt.Fprintf(w, "%s\n", line)
	}
	fmt.Fprintf(w, "%s\n", r.verdict())
	return w.Flush()
}

// printEvents prints how much happened, and how soon there was a leader.
func (r *simReport) printEvents(w io.Writer) {
	if isShell(r.World) {
		fmt.Fprintf(w, "\n%d messages; %d elections\n", r.Events, r.Elections)
		return
	}
	fmt.Fprintf(w, "\n%d events, %.1f million a CPU second; %d elections\n", r.Events, r.PerCPU/1e6, r.Elections)
	what := "a healed majority had a leader after %.2f detection times (p50), %.2f (p99)\n"
	if r.World == leaseWorld {
		what = "a silent leader was replaced after %.2f TTLs (p50), %.2f (p99)\n"
	}
	fmt.Fprintf(w, what, r.P50, r.P99)
}

// verdict is the last line of the report.
func (r *simReport) verdict() string {
	text := "no invariant was violated"
	if r.Violations > 0 {
		text = fmt.Sprintf("%d of %d runs violated an invariant", r.Violations, r.Seeds)
	}
	if !r.Complete {
		return fmt.Sprintf("NOT complete: %s; %s so far", r.Stopped, text)
	}
	return text
}

// mostTold is how many violations are listed one by one.
const mostTold = 10

// names are the names of everything that a world counts, in the order of printing.
type names struct{ faults, assumptions, invariants, conditions []string }

func (r *simReport) names() names {
	if r.World == leaseWorld {
		broken := slices.DeleteFunc(leases.Faults(), func(f leases.Fault) bool { return f.Class() != leases.AssumptionFaults })
		return names{texts(leases.Faults()), texts(broken), texts(leases.Invariants()), texts(leases.Conditions())}
	}
	if isShell(r.World) {
		kind := kindOfShell(r.World)
		return names{texts(kind.Faults()), nil, texts(kind.Invariants()), texts(kind.Conditions())}
	}
	broken := slices.DeleteFunc(simulation.Faults(), func(f simulation.Fault) bool { return f.Class() != simulation.AssumptionFaults })
	return names{texts(simulation.Faults()), texts(broken), texts(invariant.All()), texts(simulation.Conditions())}
}

func texts[T fmt.Stringer](all []T) []string {
	words := make([]string, len(all))
	for i, t := range all {
		words[i] = t.String()
	}
	return words
}

// printTable prints the three lists of counts side by side.
func (r *simReport) printTable(w io.Writer) {
	n := r.names()
	shown := slices.DeleteFunc(n.faults, func(f string) bool { return slices.Contains(n.assumptions, f) && r.Faults[f] == 0 })
	columns := [][][2]string{rows(shown, r.Faults), rows(n.invariants, r.Invariants), rows(n.conditions, r.Conditions)}
	fmt.Fprintf(w, "fault\tstruck\tinvariant\tchecked\tcondition\tmet\n")
	for i := range max(len(columns[0]), len(columns[1]), len(columns[2])) {
		for _, column := range columns {
			cell := [2]string{}
			if i < len(column) {
				cell = column[i]
			}
			fmt.Fprintf(w, "%s\t%s\t", cell[0], cell[1])
		}
		fmt.Fprintf(w, "\n")
	}
	fmt.Fprintf(w, "\n")
}

func rows(all []string, counts map[string]uint64) (out [][2]string) {
	for _, name := range all {
		out = append(out, [2]string{name, strconv.FormatUint(counts[name], 10)})
	}
	return out
}

// printWorlds prints how many worlds have each trait.
func (r *simReport) printWorlds(w io.Writer) {
	if r.World != "" {
		return
	}
	var parts []string
	for _, t := range simulation.Traits() {
		parts = append(parts, fmt.Sprintf("%v: %d", t, r.Worlds[t.String()]))
	}
	fmt.Fprintf(w, "worlds with %s\n\n", strings.Join(parts, "; "))
}

// printAssumptions prints how often an assumption was broken and detected, and which
// violations were excused for it.
func (r *simReport) printAssumptions(w io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(r.Assumed)) {
		fmt.Fprintf(w, "%s: struck in %d runs, detected and refused in %d\n", name, r.Assumed[name], r.Told[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Excused)) {
		fmt.Fprintf(w, "%s: %d violations excused, because a clock was beyond the margin or an assumption was broken\n", name, r.Excused[name])
	}
}

// printMissing names faults, invariants and conditions that never occurred, because a
// campaign says nothing about these.
func (r *simReport) printMissing(w io.Writer) {
	n := r.names()
	for _, f := range n.faults {
		if r.asked[f] && r.Faults[f] == 0 {
			fmt.Fprintf(w, "note: the fault %q never struck\n", f)
		}
	}
	for _, i := range n.invariants {
		if r.Invariants[i] == 0 {
			fmt.Fprintf(w, "note: the invariant %q was never checked\n", i)
		}
	}
	for _, c := range n.conditions {
		if r.Conditions[c] == 0 {
			fmt.Fprintf(w, "note: the condition %q was never met\n", c)
		}
	}
}
