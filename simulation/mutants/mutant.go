// What a mutant is, and which ones are hunted.

package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"path"
	"regexp"
	"slices"
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
func (m *mutant) world() string { return worldOf(m.File) }

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
	return some(chosen, sample, turn), nil
}

// some are so many mutants, evenly.
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

// someOfEach are so many mutants of every directory.
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
