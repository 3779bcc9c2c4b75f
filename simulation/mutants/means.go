// The means by which a mutant is noticed.
//
// The simulator and the explorer know nothing of the code but what must hold; a mutant
// that was written by hand has to be noticed by one of them alone. The tests of the
// packages say besides what the code was meant to do, bug or not, and are asked about
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

// visible leaves out the mutants that none of some means can see.
func visible(mutants []mutant, all []means) []mutant {
	return slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		return !slices.ContainsFunc(all, func(one means) bool { return one.sees(&m) })
	})
}

func isVoting(m *mutant) bool  { return m.world() == voting }
func isShell(m *mutant) bool   { return m.world() == neither }
func isNoShell(m *mutant) bool { return !isShell(m) }
func isAny(*mutant) bool       { return true }

// isStored says whether a mutant is of what a database does.
func isStored(m *mutant) bool { _, ok := elsewhere[path.Dir(m.File)]; return ok }

// sighting is what a look came to.
type sighting struct {
	noticed string // what was; empty: nothing
	steps   int    // of plain machines, by which it is shown; 0: it is not shown by those
	seeds   uint64
	states  uint64
	cpu     float64 // seconds
}

// glance is how long the simulator looks at a generated mutant before others are asked.
// What it can notice it has noticed by then, but for a few.
const glance = 2 * time.Second

// forHandwritten are the means for mutants that were written by hand: simulator or explorer,
// one after the other if it is not said which; and the tests for what neither of these runs.
func forHandwritten(by string, limit time.Duration) ([]means, error) {
	all := []means{simulator(0, limit), explorer, ownTests(isShell)}
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

// forGenerated are those for generated ones, the cheapest first. The simulator looks
// again in the end, from seeds on that it cannot have come to.
func forGenerated(limit time.Duration) []means {
	return []means{
		simulator(0, min(glance, limit)), ownTests(isAny), otherTests, racedTests, wholeHosts, explorer, simulator(1<<32, limit), databases,
	}
}

// mostSeeds are about a minute of CPU time. What is noticed must not depend on how busy the
// machine is.
const mostSeeds = "60000"

// simulator looks at seeds from the first on.
func simulator(first uint64, limit time.Duration) means {
	return means{"simulator", isNoShell, func(ctx context.Context, h *hunter, m *mutant) (sighting, error) {
		return h.run(ctx, limit, "-world", m.world(), "-faults", m.faults(), "-first", strconv.FormatUint(first, 10), "-seeds", mostSeeds)
	}}
}

// explorer looks at small bounds. A mutant may need many more states than the code does;
// what it has not shown by then is left to others. Of leases it knows nothing.
var explorer = means{"explorer", isVoting, func(ctx context.Context, h *hunter, _ *mutant) (sighting, error) {
	return h.run(ctx, 20*time.Second, "-explore")
}}

// run runs the command hunt. If it panics or does not end, that is noticed, too.
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
