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
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// means is a way to look at the mutant that was built last.
type means struct {
	name string
	look func(context.Context, *hunter, *mutant) (sighting, error)
}

// sighting is what a look came to.
type sighting struct {
	noticed string // what was; empty: nothing
	steps   int    // of plain machines, by which it is shown; 0: it is not shown by those
	seeds   uint64
	cpu     float64 // seconds
}

// glance is how long the simulator looks at a generated mutant before others are asked.
// What it can notice it has noticed by then, but for a few.
const glance = 2 * time.Second

// forHandwritten are the means for mutants that were written by hand: either of them, one
// after the other if it is not said which.
func forHandwritten(by string, limit time.Duration) ([]means, error) {
	all := []means{simulator(0, limit), explorer}
	if by == "" {
		return all, nil
	}
	for _, one := range all {
		if one.name == by {
			return []means{one}, nil
		}
	}
	return nil, fmt.Errorf("--by is %q, want %s or %s", by, all[0].name, all[1].name)
}

// forGenerated are those for generated ones, the cheapest first. The simulator looks
// again in the end, from seeds on that it cannot have come to.
func forGenerated(limit time.Duration) []means {
	return []means{simulator(0, min(glance, limit)), tests, explorer, simulator(1<<32, limit)}
}

// simulator looks at seeds from the first on.
func simulator(first uint64, limit time.Duration) means {
	return means{"simulator", func(ctx context.Context, h *hunter, m *mutant) (sighting, error) {
		return h.run(ctx, limit, "-world", m.world(), "-first", strconv.FormatUint(first, 10))
	}}
}

// explorer looks at small bounds. A mutant may need many more states than the code does;
// what it has not shown by then is left to others. Of leases it knows nothing.
var explorer = means{"explorer", func(ctx context.Context, h *hunter, m *mutant) (sighting, error) {
	if m.world() == "lease" {
		return sighting{}, nil
	}
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
	}
	err = json.Unmarshal(out, &found)
	s.noticed, s.steps, s.seeds = found.Invariant, found.Steps, found.Seeds
	return s, err
}

// tests runs the tests of the packages that mutants are made of. The results of those
// that do not depend on the mutant are remembered from the last time.
var tests = means{"tests", func(ctx context.Context, h *hunter, m *mutant) (sighting, error) {
	packages := []string{"./elector", "./memberstate", "."}
	if m.world() == "lease" {
		packages = []string{"./lease"}
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-overlay", h.overlay, "-failfast", "-vet=off", "-timeout", "1m"}, packages...)...)
	cmd.Dir = h.root
	out, err := cmd.CombinedOutput()
	s := sighting{cpu: spent(cmd)}
	if failed := (*exec.ExitError)(nil); ctx.Err() != nil || err != nil && !errors.As(err, &failed) {
		return s, errors.Join(ctx.Err(), err)
	}
	if err != nil {
		s.noticed = whatFailed(out)
	}
	return s, nil
}}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// whatFailed is the first test that failed, or what else became of them.
func whatFailed(out []byte) string {
	switch test := failedTest.FindSubmatch(out); {
	case test != nil:
		return string(test[1])
	case bytes.Contains(out, []byte("panic: test timed out")):
		return "a test hangs"
	default:
		return "the tests break off"
	}
}

// spent is the CPU time of a process that has ended, and of those that it has waited for.
func spent(cmd *exec.Cmd) float64 {
	if cmd.ProcessState == nil {
		return 0
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}
