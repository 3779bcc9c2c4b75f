// Command mutants breaks the shipped code in one small way at a time, and reports whether the breakage is
// noticed.
//
//	go run ./simulation/mutants               the handwritten mutants
//	go run ./simulation/mutants --generated   those made by rules, which takes long
//	go run ./simulation/mutants --generated --each 10 --turn today
//	go run ./simulation/mutants --list        their names, and the faults of DLedger that they have
//	go run ./simulation/mutants --only lease
//	go run ./simulation/mutants --by explorer
//
// The sources are never changed: a mutant is built with an overlay. A handwritten mutant that does not apply any
// more, or does not compile, is an error, because it would show nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	list := flags.Bool("list", false, "print the names of the mutants, a line each")
	generated := flags.Bool("generated", false, "the mutants made by rules, not the handwritten ones")
	asJSON := flags.Bool("json", false, "print one JSON object on one line")
	only := flags.String("only", "", "only mutants whose names match a regular `expression`")
	sample := flags.Int("sample", 0, "how many of them, chosen evenly; 0: all")
	each := flags.Int("each", 0, "how many of each directory, chosen evenly; 0: all")
	turn := flags.String("turn", "", "any `text`, for example a commit; another text gives another sample")
	spared := flags.Int("survivors", 0, "how many may survive without an error")
	kept := flags.String("results", "", "a `file` that keeps the results, so that an interrupted hunt can go on")
	by := flags.String("by", "", "the `means`: simulator or explorer; empty: both in turn")
	within := flags.Duration("within", 0, "begin with no other mutant after this `time`; 0: look at all of them")
	limit := flags.Duration("for", 10*time.Minute, "the longest time that the simulator looks at each, on all cores")
	if err := flags.Parse(args); err != nil {
		return err
	}
	h, err := newHunter()
	if err != nil {
		return err
	}
	defer h.close()
	if err := adoptLeftovers(); err != nil {
		return err
	}
	mutants := handwritten
	ways, err := forHandwritten(*by, *limit)
	if err != nil {
		return err
	}
	if *generated {
		ways = forGenerated(*limit)
		if mutants, err = generate(h.root); err != nil {
			return err
		}
	}
	chosen, err := choose(visible(mutants, ways), *only, *sample, *turn)
	if err != nil {
		return err
	}
	if *each > 0 {
		chosen = someOfEach(chosen, *each, *turn)
	}
	if *list {
		return printNames(stdout, chosen)
	}
	if *sample > 0 {
		_, _ = fmt.Fprintf(stderr, "%d of them, again with --sample %d --turn %q\n", len(chosen), *sample, *turn)
	}
	known, err := openResults(*kept, h.root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, known.close()) }()
	total, err := h.huntAll(ctx, *within, chosen, ways, *generated, known, stderr)
	if err != nil {
		return err
	}
	if *asJSON {
		err = json.NewEncoder(stdout).Encode(total)
	} else {
		err = total.print(stdout)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return errors.New("interrupted: the list is not complete")
	}
	return total.judge(*spared)
}

func printNames(out io.Writer, mutants []mutant) error {
	for _, m := range mutants {
		line := m.Name
		if of := faultsOf(m.Name); of != "" {
			line += "  (" + of + ")"
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
