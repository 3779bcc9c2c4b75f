// Running the tests.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hustings/hustings/internal/between"
)

// ownTests are those of the mutant's package.
func ownTests(sees func(*mutant) bool) means {
	return means{"tests", sees, func(ctx context.Context, h *hunter, m *mutant) (sighting, error) {
		own, _, err := h.asked(ctx, m)
		if err != nil {
			return sighting{}, err
		}
		return h.testAll(ctx, own)
	}}
}

// scenarios are those in the simulator's testdata.
var scenarios = means{"scenarios", isRare, func(ctx context.Context, h *hunter, _ *mutant) (sighting, error) {
	return h.testAll(ctx, []suite{{".", "./simulation"}}, "-run", "^TestScenariosGoAsExpected$")
}}

// otherTests are those of the packages that use the mutant's. With -short, tests that run at random for as long as
// they may are left out.
var otherTests = means{"tests of others", isAny, func(ctx context.Context, h *hunter, m *mutant) (sighting, error) {
	_, others, err := h.asked(ctx, m)
	if err != nil {
		return sighting{}, err
	}
	return h.testAll(ctx, others, "-short")
}}

// racedTests are the nearest tests with the race detector, for packages with concurrent code.
var racedTests = means{"race detector", isAny, func(ctx context.Context, h *hunter, m *mutant) (sighting, error) {
	own, others, err := h.asked(ctx, m)
	if beside, read := h.runsBeside(m.File); err != nil || read != nil || !beside {
		return sighting{}, errors.Join(err, read)
	}
	all := slices.Concat(own, others)
	return h.testAll(ctx, all[:min(1, len(all))], "-race", "-short")
}}

// wholeHosts is the simulation of whole processes, which runs code that no other world runs.
var wholeHosts = means{"whole hosts", isInHosts, func(ctx context.Context, h *hunter, _ *mutant) (sighting, error) {
	return h.testAll(ctx, []suite{{".", "./simulation/shell"}})
}}

// isInHosts says whether that simulation runs a mutant.
func isInHosts(m *mutant) bool {
	switch path.Dir(m.File) {
	case "elector", "elector/protocol", "lease", "lease/mem", "lease/protocol", "lease/internal/row", "memberstate", "rpc", "internal/level", "internal/office":
		return true
	}
	return false
}

// databases are tests with real databases, which are started for them. Where they do not start, or the tests fail
// without a mutant, too, nothing is known of the mutant.
var databases = means{"databases", isStored, func(ctx context.Context, h *hunter, m *mutant) (sighting, error) {
	s, err := h.testAll(ctx, []suite{elsewhere[path.Dir(m.File)]}, inDatabases)
	if errors.Is(err, errUnfit) && ctx.Err() == nil {
		s.untried, err = err.Error(), nil
	}
	return s, err
}}

// errUnfit is the error of tests that say nothing of a mutant: they did not run, or they notice without one.
var errUnfit = errors.New("tests are of no use")

// inDatabases marks the flags of tests that need databases.
const inDatabases = "-databases"

// runsBeside says whether the package of a file has goroutines or locks.
func (h *hunter) runsBeside(file string) (bool, error) {
	names, err := filepath.Glob(filepath.Join(h.root, filepath.FromSlash(path.Dir(file)), "*.go"))
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil || beside.Match(text) {
			return err == nil, err
		}
	}
	return false, err
}

var beside = regexp.MustCompile(`(?m)^\s*(go .*\(|"sync(/atomic)?")`)

// testAll runs suites of tests one after another, until one fails. A suite that fails without a mutant would notice
// every mutant. In the mutant's own package that is an error; other suites that fail, as they may on a machine that is
// too busy, are skipped.
func (h *hunter) testAll(ctx context.Context, all []suite, flags ...string) (total sighting, err error) {
	for _, one := range all {
		key := fmt.Sprint(one, flags)
		took, ok := h.sound[key]
		if !ok {
			whole, lasted, err := h.test(ctx, one, mostTests, flags...)
			if err == nil && whole.noticed != "" && slices.Contains(flags, "-short") {
				continue
			}
			if err != nil || whole.noticed != "" {
				return total, errors.Join(err, fmt.Errorf("%w: those of %s %v notice without a mutant: %s", errUnfit, one.name, flags, whole.noticed))
			}
			took, h.sound[key] = lasted, lasted
		}
		s, _, err := h.test(ctx, one, min(leastTests+10*took, mostBroken), append(slices.Clone(flags), "-overlay="+h.overlay)...)
		total.cpu += s.cpu
		if total.noticed = s.noticed; err != nil || s.noticed != "" {
			return total, err
		}
	}
	return total, nil
}

// Tests with a mutant may take a minute, and ten times what they take without one, even on a busy machine.
const (
	leastTests = time.Minute
	mostBroken = 5 * time.Minute
	mostTests  = 20 * time.Minute
)

// test runs the tests of a package, and returns how long they took by their own account. The go command caches the
// results of those that do not depend on a mutant.
func (h *hunter) test(ctx context.Context, of suite, limit time.Duration, flags ...string) (s sighting, took time.Duration, err error) {
	databases := slices.Contains(flags, inDatabases)
	flags = slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return flag == inDatabases })
	args := slices.Concat([]string{"test", "-failfast", "-vet=off", "-timeout", limit.String()}, flags, []string{of.name})
	cmd := h.goTool(ctx, of.module, args...)
	if slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "-overlay=") }) {
		cmd.Env = append(cmd.Env, between.Overlay+"="+h.overlay) // for tests that rebuild their package
	}
	if databases {
		dir, env := cmd.Dir, slices.Concat(cmd.Env, []string{"HUSTINGS_TEST_ALL=yes"})
		cmd = exec.CommandContext(ctx, "bash", slices.Concat([]string{"./with", "clock", "postgres", "mariadb", "redis", "etcd", "--", "go"}, args)...)
		cmd.Dir, cmd.Env = dir, env
	}
	out, err := cmd.CombinedOutput()
	s.cpu = spent(cmd)
	endLeftovers()
	if failed := (*exec.ExitError)(nil); ctx.Err() != nil || err != nil && !errors.As(err, &failed) {
		return s, 0, errors.Join(ctx.Err(), err)
	}
	if err != nil && !judged.Match(out) {
		return s, 0, fmt.Errorf("%w: they did not run: %w\n%s", errUnfit, err, out)
	}
	if err != nil {
		s.noticed = whatFailed(out)
	}
	if lasted := passed.FindSubmatch(out); lasted != nil {
		seconds, _ := strconv.ParseFloat(string(lasted[1]), 64) // it is a number: see the expression
		took = time.Duration(seconds * float64(time.Second))
	}
	return s, took, nil
}

var (
	passed     = regexp.MustCompile(`(?m)^ok\s+\S+\s+(?:\(cached\)|([0-9.]+)s)`)
	judged     = regexp.MustCompile(`(?m)^(ok|FAIL)\s`) // by go test, whatever ran it
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
)

// whatFailed is the first test that failed, or how else the tests ended.
func whatFailed(out []byte) string {
	switch test := failedTest.FindSubmatch(out); {
	case bytes.Contains(out, []byte("WARNING: DATA RACE")):
		return "a data race"
	case test != nil:
		return string(test[1])
	case bytes.Contains(out, []byte("panic: test timed out")):
		return "a test hangs"
	default:
		return "the tests break off"
	}
}
