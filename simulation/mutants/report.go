// What all mutants come to, for people and for programs.

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

type report struct {
	Mutants int `json:"mutants"`
	Caught  int `json:"caught"`
	// Discarded are those that rules have made and that are no programs.
	Discarded int `json:"discarded"`
	// Equivalent are the mutants that change nothing that can be seen, each with the reason.
	Equivalent map[string]string `json:"equivalent"`
	Survivors  []string          `json:"survivors"`
	Verdicts   []result          `json:"verdicts"`
}

// result is what became of one mutant.
type result struct {
	Mutant  string  `json:"mutant"`
	Means   string  `json:"means"`      // simulator, explorer or tests
	Noticed string  `json:"noticed_by"` // the invariant, or the test; empty: nobody noticed
	Seeds   uint64  `json:"seeds"`
	States  uint64  `json:"states"` // that the explorer came to
	Steps   int     `json:"steps"`  // by which plain machines come to what the explorer found; 0: they cannot
	CPU     float64 `json:"cpu_seconds"`
}

func newReport() report {
	return report{Equivalent: map[string]string{}, Survivors: []string{}, Verdicts: []result{}}
}

func (r *report) add(one result) {
	r.Mutants++
	r.Verdicts = append(r.Verdicts, one)
	if one.Noticed == "" {
		r.Survivors = append(r.Survivors, one.Mutant)
	} else {
		r.Caught++
	}
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
	if r.Discarded > 0 {
		fmt.Fprintf(&w, "%d more do not compile\n", r.Discarded)
	}
	_, err := io.WriteString(out, w.String())
	return err
}
