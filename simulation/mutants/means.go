// The means by which a mutant is noticed.
//
// The simulator and the explorer know the code only by its invariants, and one of them alone has to notice a
// handwritten mutant. The tests of the packages also know how the code was meant to work, and are run for
// generated mutants, too.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"time"
)

// means is a way to look at the mutant that was built last.
type means struct {
	name string
	sees func(*mutant) bool
	look func(context.Context, *hunter, *mutant) (sighting, error)
}

// visible removes the mutants that none of these means can see.
func visible(mutants []mutant, all []means) []mutant {
	return slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		return !slices.ContainsFunc(all, func(one means) bool { return one.sees(&m) })
	})
}

func isVoting(m *mutant) bool  { return m.world() == voting }
func isShell(m *mutant) bool   { return m.world() == neither }
func isNoShell(m *mutant) bool { return !isShell(m) }
func isAny(*mutant) bool       { return true }

// isStored says whether a mutant is in code of a database's store.
func isStored(m *mutant) bool { _, ok := elsewhere[path.Dir(m.File)]; return ok }

// sighting is the result of a look.
type sighting struct {
	noticed string // the invariant or the test; empty: nothing was noticed
	untried string // why it could not look; empty: it looked
	steps   int    // of plain machines, by which it is shown; 0: they do not show it
	seeds   uint64
	states  uint64
	cpu     float64 // seconds
}

// glance is how long the simulator looks at a generated mutant before other means do. It has noticed by then
// nearly everything that it can notice.
const glance = 2 * time.Second

// forHandwritten are the means for handwritten mutants: simulator or explorer, or both in turn if by is empty;
// and scenarios and tests for code that neither of them runs, or that hardly any run meets.
func forHandwritten(by string, limit time.Duration) ([]means, error) {
	all := []means{simulator(0, limit), explorer, scenarios, ownTests(func(m *mutant) bool { return isShell(m) || isRare(m) })}
	if by == "" {
		return all, nil
	}
	for _, one := range all[:2] {
		if one.name == by {
			return []means{one}, nil
		}
	}
	return nil, fmt.Errorf("--by is %q, want %s or %s", by, all[0].name, all[1].name)
}

// forGenerated are those for generated mutants, the cheapest first. The simulator looks again in the end, from a
// seed on that its first look cannot have reached.
func forGenerated(limit time.Duration) []means {
	return []means{
		simulator(0, min(glance, limit)), ownTests(isAny), otherTests, racedTests, wholeHosts, explorer, simulator(1<<32, limit), databases,
	}
}

// mostSeeds takes about four minutes of CPU time. It is a number of seeds, so that the result does not depend on how
// busy the machine is.
const mostSeeds = "16000"

// simulator looks at seeds from the first on.
func simulator(first uint64, limit time.Duration) means {
	return means{"simulator", func(m *mutant) bool { return isNoShell(m) && !isRare(m) }, func(ctx context.Context, h *hunter, m *mutant) (sighting, error) {
		return h.run(ctx, limit, "-world", m.world(), "-faults", m.faults(), "-first", strconv.FormatUint(first, 10), "-seeds", mostSeeds)
	}}
}

// explorer looks within small bounds. A mutant may have many more states than the code, so the time is limited and
// the rest is left to other means. It runs the leases of a group, not those in a database.
var explorer = means{"explorer", func(m *mutant) bool { return isVoting(m) && !isRare(m) }, func(ctx context.Context, h *hunter, _ *mutant) (sighting, error) {
	return h.run(ctx, 20*time.Second, "-explore")
}}

// run runs the command hunt. A panic, or a run that does not end, counts as noticed.
func (h *hunter) run(ctx context.Context, limit time.Duration, args ...string) (sighting, error) {
	within, cancel := context.WithTimeout(ctx, 2*limit+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(within, h.binary, append(args, "-for", limit.String())...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	s := sighting{cpu: spent(cmd)}
	switch {
	case ctx.Err() != nil:
		return s, ctx.Err()
	case within.Err() != nil:
		s.noticed = "it hangs"
		return s, nil
	case err != nil && bytes.Contains(errs.Bytes(), []byte("panic")):
		s.noticed = "it panics"
		return s, nil
	case err != nil:
		return s, fmt.Errorf("%w\n%s", err, errs.Bytes())
	}
	var found struct {
		Invariant string `json:"invariant"`
		Steps     int    `json:"steps"`
		Seeds     uint64 `json:"seeds"`
		States    uint64 `json:"states"`
	}
	err = json.Unmarshal(out, &found)
	s.noticed, s.steps, s.seeds, s.states = found.Invariant, found.Steps, found.Seeds, found.States
	return s, err
}

// spent is the CPU time of a process that has ended, and of those that it has waited for.
func spent(cmd *exec.Cmd) float64 {
	if cmd.ProcessState == nil {
		return 0
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}
