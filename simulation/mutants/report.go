// The results of all mutants together, for people and for programs.

package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
)

type report struct {
	Mutants int `json:"mutants"`
	Caught  int `json:"caught"`
	// Discarded are generated mutants that do not compile.
	Discarded int `json:"discarded"`
	// Equivalent are the mutants that change nothing that can be seen, with the reasons.
	Equivalent map[string]string `json:"equivalent"`
	Survivors  []string          `json:"survivors"`
	// Untried are the mutants that nobody has noticed so far, but that some means could not look at, with the reasons.
	Untried map[string]string `json:"untried"`
	// Directories are counts by directory, in the order of their first mutants.
	Directories []count  `json:"directories"`
	Verdicts    []result `json:"verdicts"`
}

// count is the count of a directory.
type count struct {
	Directory  string `json:"directory"` // empty: all handwritten ones
	Mutants    int    `json:"mutants"`
	Caught     int    `json:"caught"`
	Equivalent int    `json:"equivalent"`
	Discarded  int    `json:"discarded"`
}

// result is the result for one mutant.
type result struct {
	Mutant  string  `json:"mutant"`
	Means   string  `json:"means"`      // that noticed it
	Noticed string  `json:"noticed_by"` // the invariant, or the test; empty: it was not noticed
	Seeds   uint64  `json:"seeds"`
	States  uint64  `json:"states"` // of the explorer
	Steps   int     `json:"steps"`  // by which plain machines show the explorer's violation; 0: they cannot
	CPU     float64 `json:"cpu_seconds"`
	// Equivalent says why it cannot be noticed.
	Equivalent string `json:"equivalent,omitempty"`
	Discarded  bool   `json:"discarded,omitempty"` // it does not compile
	// Untried says why a means could not look at it. No other one has noticed it.
	Untried string `json:"untried,omitempty"`
}

func newReport() report {
	return report{Equivalent: map[string]string{}, Untried: map[string]string{}, Survivors: []string{}, Verdicts: []result{}, Directories: []count{}}
}

func (r *report) add(one result) {
	of := r.of(one.dir())
	if one.Untried != "" {
		r.Untried[one.Mutant] = one.Untried
		return
	}
	if one.Discarded {
		r.Discarded++
		of.Discarded++
		return
	}
	r.Mutants++
	of.Mutants++
	if one.Equivalent != "" {
		r.Equivalent[one.Mutant] = one.Equivalent
		of.Equivalent++
		return
	}
	r.Verdicts = append(r.Verdicts, one)
	if one.Noticed == "" {
		r.Survivors = append(r.Survivors, one.Mutant)
	} else {
		r.Caught++
		of.Caught++
	}
}

// judge is an error if more mutants than allowed have survived.
func (r *report) judge(may int) error {
	if n := len(r.Survivors); n > may {
		return fmt.Errorf("%d mutants survived, and %d may: an invariant, a fault or a test is missing", n, may)
	}
	return nil
}

// of is the count of a directory.
func (r *report) of(dir string) *count {
	i := slices.IndexFunc(r.Directories, func(c count) bool { return c.Directory == dir })
	if i < 0 {
		i = len(r.Directories)
		r.Directories = append(r.Directories, count{Directory: dir})
	}
	return &r.Directories[i]
}

// dir is the directory of a generated mutant; empty: it is handwritten.
func (r *result) dir() string {
	file, _, _ := strings.Cut(r.Mutant, ":")
	if !strings.Contains(file, "/") {
		return ""
	}
	return path.Dir(file)
}

// line is the result on one line.
func (r *result) line() string {
	switch {
	case r.Discarded:
		return r.Mutant + ": does not compile"
	case r.Equivalent != "":
		return r.Mutant + ": equivalent"
	case r.Untried != "":
		return r.Mutant + ": NOT TRIED, " + r.Untried
	case r.Noticed == "":
		return fmt.Sprintf("%s: NOBODY notices, %.1f CPU s", r.Mutant, r.CPU)
	}
	return fmt.Sprintf("%s: %s, %s, %d seeds, %d states, %d steps, %.1f CPU s", r.Mutant, r.Means, r.Noticed, r.Seeds, r.States, r.Steps, r.CPU)
}

func (r *report) print(out io.Writer) error {
	var w strings.Builder
	fmt.Fprintf(&w, "mutant\tmeans\tnoticed by\tseeds\tstates\tsteps\tCPU s\n")
	by := map[string]int{}
	for _, v := range r.Verdicts {
		noticed := v.Noticed
		if noticed == "" {
			noticed = "NOBODY"
		} else {
			by[v.Means]++
		}
		fmt.Fprintf(&w, "%s\t%s\t%s\t%d\t%d\t%d\t%.1f\n", v.Mutant, v.Means, noticed, v.Seeds, v.States, v.Steps, v.CPU)
	}
	for _, c := range r.Directories {
		if c.Directory != "" {
			fmt.Fprintf(&w, "%s\t%d of %d caught\t%d equivalent\t%d do not compile\n", c.Directory, c.Caught, c.Mutants, c.Equivalent, c.Discarded)
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, w.String()); err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	w.Reset()
	for _, name := range slices.Sorted(maps.Keys(r.Equivalent)) {
		fmt.Fprintf(&w, "%s is equivalent: %s\n", name, r.Equivalent[name])
	}
	fmt.Fprintf(&w, "\n%d of %d mutants were caught, %d are equivalent\n", r.Caught, r.Mutants, len(r.Equivalent))
	for _, means := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(&w, "%d by the %s\n", by[means], means)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Untried)) {
		fmt.Fprintf(&w, "%s is not counted, because not everything was tried: %s\n", name, r.Untried[name])
	}
	if r.Discarded > 0 {
		fmt.Fprintf(&w, "%d more do not compile\n", r.Discarded)
	}
	_, err := io.WriteString(out, w.String())
	return err
}
