// A mutant, and how the mutants of a hunt are chosen.

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"path"
	"regexp"
	"slices"
)

// mutant is one small bug.
type mutant struct {
	Name string
	File string // below go.mod
	Old  string // is in it once
	New  string // takes its place
	// Equivalent says why the mutant cannot be noticed, if it changes nothing that can be seen. Such
	// a mutant is not hunted.
	Equivalent string
}

// world is the simulator's world in which it would be noticed.
func (m *mutant) world() string { return worldOf(m.File) }

// guards are mutants of code that guards an assumption: they can be noticed only where the assumption is
// broken.
var guards = []string{"lost-store-taken-for-a-new-one", "other-lists-of-voters-accepted"}

// rare are mutants that no world shows in 16,000 seeds, and no search that is large enough completes for: they need several
// messages of one link to be late in one order, at one group, or an answer or an order at the very end of a lease; or they
// change how soon and how often something is tried, which no invariant bounds so closely; or they matter only where an assumption is broken,
// and safety is excused. A scenario plays them, or a unit test.
var rare = []string{
	"answer-to-an-earlier-offer-bonds", "bond-of-an-earlier-office", "bond-older-than-an-epoch", "resting-leader-woken-by-the-judge",
	"drained-at-once", "stuck-group-tried-as-often", "stuck-group-given-up-after-one-try", "stuck-group-waits-although-another-node-serves",
	"older-standing-believed", "refused-group-keeps-others-waiting",
	"pauses-that-still-run-forgotten", "unable-members-have-early-turns", "balance-gives-what-has-just-come", "balance-turns-the-difference",
	"heartbeats-keep-silent-about-ability", "stopped-process-taken-for-a-hanging-judge",
	"unknown-node-is-not-asked", "unknown-node-is-called-in-one-group-only",
	"lease-run-out-is-extended", "lease-call-never-given-up", "lease-leader-shown-after-its-end",
	"campaign-that-is-over-ends-the-next-one", "outdated-processes-go-on",
	"stuck-group-waits-although-somebody-is-there", "stuck-group-tried-with-every-answer", "group-goes-from-one-that-drains-to-another",
	"answer-from-before-the-drain-counts", "node-serves-again-by-a-beat-only", "pause-that-hangs-is-forgotten-for-an-older-one",
}

func isRare(m *mutant) bool { return slices.Contains(rare, m.Name) }

// alone has mutants that need two faults soon after one another, which are rare while all others strike, too: the
// faults that strike while they are hunted.
var alone = map[string]string{"balance-gives-to-a-node-that-drains": "drain,balance"}

// faults are those that strike while a mutant is hunted.
func (m *mutant) faults() string {
	if slices.Contains(guards, m.Name) {
		return "all,assumptions"
	}
	return cmp.Or(alone[m.Name], "all")
}

// in is the source with the bug.
func (m *mutant) in(source []byte) ([]byte, error) {
	if n := bytes.Count(source, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("it does not apply any more: in %s there are %d of %q", m.File, n, m.Old)
	}
	return bytes.Replace(source, []byte(m.Old), []byte(m.New), 1), nil
}

// choose returns the mutants whose names match an expression, or, if there are more, a sample of them: evenly
// spread, from a place on that depends on the turn, and the same each time.
func choose(from []mutant, only string, sample int, turn string) (chosen []mutant, err error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	for _, m := range from {
		if pattern.MatchString(m.Name) {
			chosen = append(chosen, m)
		}
	}
	return some(chosen, sample, turn), nil
}

// some is an even sample.
func some(from []mutant, sample int, turn string) []mutant {
	if sample <= 0 || sample >= len(from) {
		return from
	}
	chosen, first := make([]mutant, sample), 0
	if turn != "" {
		h := fnv.New32a()
		_, _ = h.Write([]byte(turn)) // it never fails
		first = int(h.Sum32() % uint32(len(from)))
	}
	for i := range chosen {
		chosen[i] = from[(first+i*len(from)/sample)%len(from)]
	}
	return chosen
}

// someOfEach is an even sample of each directory.
func someOfEach(from []mutant, each int, turn string) (chosen []mutant) {
	var dirs []string
	of := map[string][]mutant{}
	for _, m := range from {
		dir := path.Dir(m.File)
		if len(of[dir]) == 0 {
			dirs = append(dirs, dir)
		}
		of[dir] = append(of[dir], m)
	}
	for _, dir := range dirs {
		chosen = append(chosen, some(of[dir], each, turn)...)
	}
	return chosen
}
