// Command mutants breaks what ships in one small way at a time, and tells whether
// anybody notices.
//
//	go run ./simulation/mutants               those that were written by hand
//	go run ./simulation/mutants --generated   those that are made by rules, which takes long
//	go run ./simulation/mutants --generated --each 10 --turn today
//	go run ./simulation/mutants --list        their names, and which faults of DLedger's they are
//	go run ./simulation/mutants --only lease
//	go run ./simulation/mutants --by explorer
//
// The sources are never changed: a mutant is built with an overlay. One that was written
// by hand and does not apply any more, or does not compile, is an error, for it would show
// nothing.
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
	generated := flags.Bool("generated", false, "the mutants that are made by rules")
	asJSON := flags.Bool("json", false, "print one JSON object on one line")
	only := flags.String("only", "", "those whose names match a regular `expression`")
	sample := flags.Int("sample", 0, "so many of them, chosen evenly; 0: all")
	each := flags.Int("each", 0, "so many of every directory, chosen evenly; 0: all")
	turn := flags.String("turn", "", "any `text`, a commit for one: with another one other mutants are in the sample")
	spared := flags.Int("survivors", 0, "how many may survive before that is an error")
	kept := flags.String("results", "", "the `file` that keeps what is found out: who is interrupted goes on where it was")
	by := flags.String("by", "", "`who` looks: simulator, or explorer; empty: the one and then the other")
	limit := flags.Duration("for", 2*time.Minute, "how long the simulator looks for each at most, on all cores")
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
	total, err := h.huntAll(ctx, chosen, ways, *generated, known, stderr)
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
		return errors.New("interrupted: this is not all")
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
