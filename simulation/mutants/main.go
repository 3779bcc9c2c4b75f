// Command mutants breaks the protocol in one small way at a time, and tells whether the
// simulator notices.
//
//	go run ./simulation/mutants            all of them, which takes a while
//	go run ./simulation/mutants --list     their names
//	go run ./simulation/mutants --only lease
//
// The sources are never changed: a mutant is built with an overlay. One that does not
// apply any more, or does not compile, is an error, for it would show nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// report is what all mutants come to.
type report struct {
	Mutants int `json:"mutants"`
	Caught  int `json:"caught"`
	// Equivalent are the mutants that change nothing that can be seen, each with the reason.
	Equivalent map[string]string `json:"equivalent"`
	Survivors  []string          `json:"survivors"`
	Verdicts   []result          `json:"verdicts"`
}

// result is what became of one mutant.
type result struct {
	Mutant  string  `json:"mutant"`
	Noticed string  `json:"noticed_by"` // the invariant; empty: nobody noticed
	Seeds   uint64  `json:"seeds"`
	CPU     float64 `json:"cpu_seconds"`
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	list := flags.Bool("list", false, "print the names of the mutants, a line each")
	asJSON := flags.Bool("json", false, "print one JSON object on one line")
	only := flags.String("only", "", "those whose names match a regular `expression`")
	limit := flags.Duration("for", 30*time.Second, "how long to look for each, on all cores")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if *list {
		for _, m := range chosen {
			if _, err := fmt.Fprintln(stdout, m.Name); err != nil {
				return err
			}
		}
		return nil
	}
	h, err := newHunter(*limit)
	if err != nil {
		return err
	}
	defer h.close()
	total := report{Survivors: []string{}, Equivalent: map[string]string{}}
	for i := range chosen {
		if why := chosen[i].Equivalent; why != "" {
			if _, err := h.overlay(&chosen[i]); err != nil { // it must still apply
				return fmt.Errorf("%s: %w", chosen[i].Name, err)
			}
			total.Mutants++
			total.Equivalent[chosen[i].Name] = why
			continue
		}
		r, err := h.hunt(ctx, &chosen[i])
		if err != nil {
			return fmt.Errorf("%s: %w", chosen[i].Name, err)
		}
		_, _ = fmt.Fprintf(stderr, "%3d of %d  %-40s %-32s %8d seeds %6.1f CPU s\n", i+1, len(chosen), r.Mutant, r.Noticed, r.Seeds, r.CPU)
		total.add(r)
	}
	if *asJSON {
		err = json.NewEncoder(stdout).Encode(total)
	} else {
		err = total.print(stdout)
	}
	if err == nil && len(total.Survivors) > 0 {
		err = errors.New("some mutants survived: an invariant or a fault is missing")
	}
	return err
}

func choose(only string) (chosen []mutant, err error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	for _, m := range handwritten {
		if pattern.MatchString(m.Name) {
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
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
	fmt.Fprintf(&w, "mutant\tnoticed by\tseeds\tCPU s\n")
	for _, v := range r.Verdicts {
		by := v.Noticed
		if by == "" {
			by = "NOBODY"
		}
		fmt.Fprintf(&w, "%s\t%s\t%d\t%.1f\n", v.Mutant, by, v.Seeds, v.CPU)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Equivalent)) {
		fmt.Fprintf(&w, "%s\tequivalent: %s\t\t\n", name, r.Equivalent[name])
	}
	fmt.Fprintf(&w, "\n%d of %d mutants were caught, %d are equivalent\n", r.Caught, r.Mutants, len(r.Equivalent))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, w.String()); err != nil {
		return err
	}
	return table.Flush()
}
