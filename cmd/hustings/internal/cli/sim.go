// The main command: trying to break elections.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/simulation"
)

// simFlags say what is simulated, and how much of it.
type simFlags struct {
	seeds, first uint64
	members      []int
	duration     time.Duration
	timing       string
	leases       string // on, off or mixed
	untilFailure bool
	asJSON       bool
}

func newSim() *cobra.Command { return new(simFlags).command() }

func (f *simFlags) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Try to break elections in a simulated world",
		Long: `Try to break elections in a simulated world: the code that is shipped, in a virtual
network, on virtual disks and by virtual clocks, all of which fail in the ways that
real ones do. Every seed is another world, and the same seed is always the same one.
After every event all invariants are checked. The command fails if one did not hold,
and tells how to see it again.`,
		Example: `  hustings sim
  hustings sim --seeds 100000 --members 3,5,7 --leases
  hustings sim --first 4711 --seeds 1 --members 5`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.seeds, "seeds", 4000, "how `many` worlds")
	flags.Uint64Var(&f.first, "first", 0, "the first `seed`")
	flags.IntSliceVar(&f.members, "members", []int{3, 5}, "the `sizes` of the groups, in turn")
	flags.DurationVar(&f.duration, "duration", time.Minute, "for how `long` faults strike, in virtual time")
	flags.StringVar(&f.timing, "timing", "default", "`default` or dledger")
	flags.StringVar(&f.leases, "leases", "mixed", "leaders hold leases: `on`, off, or mixed, which is every other seed")
	flags.Lookup("leases").NoOptDefVal = "on"
	flags.BoolVar(&f.untilFailure, "until-failure", false, "go on, from --first, until an invariant does not hold")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object on one line")
	return cmd
}

func (f *simFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return usageError{err}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began, used := time.Now(), cpuTime()
	total, err := f.campaign(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	report := newSimReport(f, total, cpuTime()-used, time.Since(began))
	if f.asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = report.print(cmd.OutOrStdout(), total)
	}
	if err != nil || len(total.Failing) == 0 {
		return err
	}
	failing := total.Failing[0]
	return fmt.Errorf("%d of %d seeds broke an election; see the first one again with: %s",
		len(total.Failing), total.Seeds, f.again(failing.Seed))
}

func (f *simFlags) check() error {
	if f.leases != "on" && f.leases != "off" && f.leases != "mixed" {
		return fmt.Errorf("--leases is %q, want on, off or mixed", f.leases)
	}
	if f.timing != "default" && f.timing != "dledger" {
		return fmt.Errorf(`--timing is %q, want "default" or "dledger"`, f.timing)
	}
	return nil
}

// options are those of a seed.
func (f *simFlags) options(seed uint64) simulation.Options {
	o := simulation.Options{
		Seed: seed, Members: f.members[seed%uint64(len(f.members))], Duration: f.duration,
		Leases: f.leases == "on" || f.leases == "mixed" && seed/uint64(len(f.members))%2 == 1,
	}
	if f.timing == "dledger" {
		o.Timing = elector.DLedgerTiming()
	}
	return o
}

// again is the command line that plays one seed as this one did.
func (f *simFlags) again(seed uint64) string {
	o := f.options(seed)
	leases := "off"
	if o.Leases {
		leases = "on"
	}
	return fmt.Sprintf("hustings sim --first %d --seeds 1 --members %d --duration %v --timing %s --leases=%s",
		seed, o.Members, f.duration, f.timing, leases)
}

// campaign plays the seeds on all cores, until it is interrupted or has found what it
// looks for.
func (f *simFlags) campaign(ctx context.Context, stderr io.Writer) (*simulation.Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	count := int64(f.seeds)
	if f.untilFailure {
		count = -1
	}
	bar := progressbar.NewOptions64(count, progressbar.OptionSetWriter(stderr), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("seeds"), progressbar.OptionThrottle(200*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(isTerminal(stderr)), progressbar.OptionSetPredictTime(true))
	var next atomic.Uint64
	var mu sync.Mutex
	var workers sync.WaitGroup
	total := simulation.NewSummary()
	var failure error
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= f.seeds && !f.untilFailure {
					return
				}
				r, err := simulation.Run(f.options(f.first + i))
				mu.Lock()
				if failure = errors.Join(failure, err); err != nil || f.untilFailure && r.Violation != nil {
					cancel()
				}
				if err == nil {
					total.Add(r)
					bar.Describe(fmt.Sprintf("%.1f M events, %d violations", float64(total.Events)/1e6, len(total.Failing)))
				}
				mu.Unlock()
				_ = bar.Add(1) // there is nobody to tell
			}
		})
	}
	workers.Wait()
	_ = bar.Finish()
	return total, failure
}

// simReport is what a campaign comes to, as JSON.
type simReport struct {
	Seeds      uint64            `json:"seeds"`
	FirstSeed  uint64            `json:"first_seed"`
	Events     uint64            `json:"events"`
	Virtual    float64           `json:"virtual_seconds"`
	CPU        float64           `json:"cpu_seconds"`
	PerCPU     float64           `json:"events_per_cpu_second"`
	Elections  uint64            `json:"elections"`
	Violations int               `json:"violations"`
	Failing    []uint64          `json:"failing_seeds"`
	Digest     string            `json:"digest"`
	P50        float64           `json:"leader_p50_detections"`
	P99        float64           `json:"leader_p99_detections"`
	Faults     map[string]uint64 `json:"faults"`
	Invariants map[string]uint64 `json:"invariants"`
	Conditions map[string]uint64 `json:"conditions"`

	wall time.Duration
}

func newSimReport(f *simFlags, s *simulation.Summary, cpu, wall time.Duration) simReport {
	timing := elector.DefaultTiming()
	if f.timing == "dledger" {
		timing = elector.DLedgerTiming()
	}
	detections := func(d time.Duration) float64 { return d.Seconds() / timing.Detection().Seconds() }
	r := simReport{
		Seeds: s.Seeds, FirstSeed: f.first, Events: s.Events, Virtual: s.Virtual.Seconds(), CPU: cpu.Seconds(),
		PerCPU: float64(s.Events) / max(cpu.Seconds(), 1e-9), Elections: s.Elections, Violations: len(s.Failing),
		Failing: []uint64{}, Digest: fmt.Sprintf("%016x", s.Digest), P50: detections(s.Converged(0.5)), P99: detections(s.Converged(0.99)),
		Faults: map[string]uint64{}, Invariants: map[string]uint64{}, Conditions: map[string]uint64{}, wall: wall,
	}
	for _, failing := range s.Failing {
		r.Failing = append(r.Failing, failing.Seed)
	}
	for _, fault := range simulation.Faults() {
		r.Faults[fault.String()] = s.Struck[fault]
	}
	for _, c := range simulation.Conditions() {
		r.Conditions[c.String()] = s.Met[c]
	}
	for _, i := range simulation.Invariants() {
		r.Invariants[i.String()] = s.Checked[i]
	}
	return r
}

// print is the report for people.
func (r *simReport) print(out io.Writer, s *simulation.Summary) error {
	fmt.Fprintf(out, "%d seeds from %d, %.0f hours of virtual time in %v: %d violations\n",
		r.Seeds, r.FirstSeed, r.Virtual/3600, r.wall.Round(time.Millisecond), r.Violations)
	fmt.Fprintf(out, "%d events (%.1f million a CPU second), %d elections\n", r.Events, r.PerCPU/1e6, r.Elections)
	fmt.Fprintf(out, "a healed majority had a leader after %.2f detection times (p50), %.2f (p99)\n\n", r.P50, r.P99)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	columns := [3][][2]string{}
	for _, f := range simulation.Faults() {
		columns[0] = append(columns[0], [2]string{f.String(), fmt.Sprint(s.Struck[f])})
	}
	for _, i := range simulation.Invariants() {
		columns[1] = append(columns[1], [2]string{i.String(), fmt.Sprint(s.Checked[i])})
	}
	for _, c := range simulation.Conditions() {
		columns[2] = append(columns[2], [2]string{c.String(), fmt.Sprint(s.Met[c])})
	}
	fmt.Fprintf(w, "fault\tstruck\tinvariant\tchecked\tcondition\tmet\n")
	for i := range max(len(columns[0]), len(columns[1]), len(columns[2])) {
		for _, column := range columns {
			cell := [2]string{}
			if i < len(column) {
				cell = column[i]
			}
			fmt.Fprintf(w, "%s\t%s\t", cell[0], cell[1])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\ndigest %s\n", r.Digest)
	for _, failing := range s.Failing {
		fmt.Fprintf(w, "seed %d: %v\n", failing.Seed, failing.Violation)
	}
	return w.Flush()
}
