// What a mutant is, and which ones are hunted.

package main

import (
	"bytes"
	"fmt"
	"regexp"
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

// world is the one in which it would be noticed.
func (m *mutant) world() string {
	for _, of := range []string{"lease/", "simulation/leases/", "internal/office/"} {
		if strings.HasPrefix(m.File, of) {
			return "lease"
		}
	}
	return "voting"
}

// in is the source with the bug.
func (m *mutant) in(source []byte) ([]byte, error) {
	if n := bytes.Count(source, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("it does not apply any more: in %s there are %d of %q", m.File, n, m.Old)
	}
	return bytes.Replace(source, []byte(m.Old), []byte(m.New), 1), nil
}

// choose takes the mutants whose names match an expression, or so many of them if there
// are more: evenly, and always the same.
func choose(from []mutant, only string, sample int) (chosen []mutant, err error) {
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
	some := make([]mutant, sample)
	for i := range some {
		some[i] = chosen[i*len(chosen)/sample]
	}
	return some, nil
}
