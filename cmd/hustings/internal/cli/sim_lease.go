// Elections by a lease, for sim and replay.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/simulation/leases"
)

// playLeases plays elections by a lease. tell makes an error of the violations.
func (f *simFlags) playLeases(ctx context.Context, stderr io.Writer) (r *simReport, tell func(*cobra.Command) error, err error) {
	began, used := time.Now(), cpuTime()
	total, count := leases.NewSummary(), uint64(0)
	if n, some := f.count(); some {
		count = n
		bar := newSimBar(count, stderr)
		campaign := leases.Campaign{
			Count: count, UntilFailure: f.untilFailure,
			Options:  func(i uint64) leases.Options { return f.leaseOptions(f.first + f.shard.seed(i)) },
			Progress: func(s *leases.Summary) { bar.show(s.Seeds, s.Events, len(s.Failing)) },
		}
		total, err = campaign.Run(ctx)
		bar.finish()
		if err != nil {
			return nil, nil, err
		}
	}
	r = newLeaseReport(f, total, cpuTime()-used, time.Since(began))
	r.ended(f, ctx.Err() != nil)
	return r, func(*cobra.Command) error {
		return fmt.Errorf("%d of %d runs broke a lease; the first one: %w\nsee it with: %s --text",
			len(total.Failing), total.Seeds, total.Failing[0].Violation, r.Replay[0])
	}, nil
}

// leaseOptions returns the options of a seed.
func (f *simFlags) leaseOptions(seed uint64) leases.Options {
	o := f.world.leaseOptions()
	o.Seed, o.Candidates = seed, turn(f.world.members, seed)
	o.Strict = o.Strict || f.world.strict == mixed && seed/uint64(len(f.world.members))%2 == 1
	return o
}

func newLeaseReport(f *simFlags, s *leases.Summary, cpu, wall time.Duration) *simReport {
	r := &simReport{
		World: leaseWorld, Seeds: s.Seeds, FirstSeed: f.first, Events: s.Events, Virtual: s.Virtual.Seconds(), CPU: cpu.Seconds(),
		Elections: s.Elections, Violations: len(s.Failing), Failing: []uint64{}, Replay: []string{},
		Digest: fmt.Sprintf("%016x", s.Digest), Detection: float64(lease.DefaultTiming().TTL.Milliseconds()), After: map[string]uint64{},
		Faults: named(leases.Faults(), s.Struck), Invariants: named(leases.Invariants(), s.Checked),
		Conditions: named(leases.Conditions(), s.Met), Excused: named(nil, s.Excused),
		Assumed: named(nil, s.Assumed), Told: map[string]uint64{}, wall: wall, asked: map[string]bool{},
	}
	for _, fault := range leases.Faults() {
		r.asked[fault.String()] = f.world.leaseSet.Has(fault)
	}
	for took, n := range s.TakenOver {
		r.After[strconv.FormatInt(took.Milliseconds(), 10)] += n
	}
	for _, failing := range s.Failing {
		o := f.leaseOptions(failing.Seed)
		r.Failing, r.Replay = append(r.Failing, failing.Seed), append(r.Replay, replayLease(&o))
		r.what = append(r.what, fmt.Sprintf("seed %d: %v", failing.Seed, failing.Violation))
	}
	r.follow()
	return r
}

// lease replays a seed, and prints what happened in it.
func (f *replayFlags) lease(cmd *cobra.Command) error {
	if f.html != "" || f.group != none || len(f.branches) > 0 {
		return usageError{errors.New("--html, --group and --branch need --world voting")}
	}
	var lines []string
	o := f.world.leaseOptions()
	o.Seed, o.Candidates, o.Tell = f.seed, turn(f.world.members, f.seed), func(line string) { lines = append(lines, line) }
	r, err := leases.Run(o)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch {
	case f.step:
		err = stepThrough(cmd.InOrStdin(), out, lines)
	case f.text:
		for _, line := range lines {
			fmt.Fprintln(out, line)
		}
	}
	fmt.Fprintf(out, "%v of virtual time, %d events, %d elections\n", r.Virtual, r.Events, r.Elections)
	switch {
	case err != nil:
		return err
	case r.Violation != nil:
		return r.Violation
	}
	_, err = fmt.Fprintln(out, "no invariant was violated")
	return err
}
