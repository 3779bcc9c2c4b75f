// What a mutant is, and which ones are hunted.

package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
)

// mutant is one small bug.
type mutant struct {
	Name string
	File string // beside go.mod
	Old  string // what stands there, once
	New  string // and what the bug makes of it
	// Equivalent says why nobody can notice, for a mutant that changes nothing that can
	// be seen. Such a one is not hunted.
	Equivalent string
}

// shells run machines in a process. The simulators have others instead, so only tests can
// notice what is wrong with these.
var shells = []string{"elector/group.go", "elector/ledger.go", "elector/office.go", "lease/effects.go"}

// world is the one in which it would be noticed.
func (m *mutant) world() string {
	if slices.Contains(shells, m.File) {
		return "shell"
	}
	for _, of := range []string{"lease/", "simulation/leases/", "internal/office/"} {
		if strings.HasPrefix(m.File, of) {
			return "lease"
		}
	}
	return "voting"
}

// guards are mutants of what guards an assumption: only where that is broken, can they be
// noticed.
var guards = []string{"lost-store-taken-for-a-new-one", "other-lists-of-voters-accepted"}

// faults are those that strike where a mutant is hunted.
func (m *mutant) faults() string {
	if slices.Contains(guards, m.Name) {
		return "all,assumptions"
	}
	return "all"
}

// in is the source with the bug.
func (m *mutant) in(source []byte) ([]byte, error) {
	if n := bytes.Count(source, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("it does not apply any more: in %s there are %d of %q", m.File, n, m.Old)
	}
	return bytes.Replace(source, []byte(m.Old), []byte(m.New), 1), nil
}

// choose takes the mutants whose names match an expression, or so many of them if there
// are more: evenly, beginning somewhere that depends on the turn, and the same each time.
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
	if sample <= 0 || sample >= len(chosen) {
		return chosen, nil
	}
	some, first := make([]mutant, sample), 0
	if turn != "" {
		h := fnv.New32a()
		_, _ = h.Write([]byte(turn)) // it never fails
		first = int(h.Sum32() % uint32(len(chosen)))
	}
	for i := range some {
		some[i] = chosen[(first+i*len(chosen)/sample)%len(chosen)]
	}
	return some, nil
}
