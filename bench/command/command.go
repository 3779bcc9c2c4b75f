// Package command is shared by the commands that run benchmarks: their flags, their progress
// bar, and the output of results.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/report"
)

// Main runs the sections that the command line names, and returns the exit code.
func Main(sections []figure.Section) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], sections, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// options are the flags.
type options struct {
	json, quick, long, keep bool
	only                    string
}

func run(ctx context.Context, arguments []string, sections []figure.Section, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.json, "json", false, "print one line of JSON, a list of all figures")
	flags.BoolVar(&o.quick, "quick", false, "measure less, in less than forty seconds; write nothing")
	flags.BoolVar(&o.long, "long", false, "measure what takes long, too: up to 100,000 groups, and drains of as many")
	flags.StringVar(&o.only, "only", "", "measure only these sections, separated by commas: "+names(sections))
	flags.BoolVar(&o.keep, "keep", false, "with --only: write these sections to results/, beside the others of the last run")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if o.keep && (o.quick || o.only == "") {
		return errors.New("--keep needs --only, and keeps nothing that was measured with --quick")
	}
	if o.quick && o.long {
		return errors.New("--quick and --long exclude each other")
	}
	chosen, err := choose(sections, o.only)
	if err != nil {
		return err
	}
	result, err := measure(ctx, chosen, figure.Plan{Quick: o.quick, Long: o.long}, newProgress(stderr))
	if o.json {
		err = errors.Join(err, result.Line(stdout))
	} else {
		err = errors.Join(err, result.Table(stdout))
	}
	if err != nil || ctx.Err() != nil || o.quick {
		return err
	}
	switch {
	case o.keep:
		return keepBeside(result, sections)
	case o.only == "":
		return keep(result)
	}
	return nil
}

func names(sections []figure.Section) string {
	all := make([]string, len(sections))
	for i := range sections {
		all[i] = sections[i].Name
	}
	return strings.Join(all, ",")
}

// choose returns the named sections, in their own order.
func choose(sections []figure.Section, only string) (chosen []figure.Section, err error) {
	if only == "" {
		return sections, nil
	}
	asked := strings.Split(only, ",")
	for _, s := range sections {
		if i := slices.Index(asked, s.Name); i >= 0 {
			chosen, asked = append(chosen, s), slices.Delete(asked, i, i+1)
		}
	}
	if len(asked) > 0 {
		return nil, fmt.Errorf("there is no section %q; the sections are %s", asked[0], names(sections))
	}
	return chosen, nil
}

// measure measures one section after the other. If one fails, the others are still measured.
func measure(ctx context.Context, sections []figure.Section, plan figure.Plan, bar *progress) (*report.Run, error) {
	result := report.NewRun()
	var problems []error
	for i := range sections {
		s := &sections[i]
		if ctx.Err() != nil {
			break
		}
		plan.Progress = func(what string, done float64) {
			bar.show(s.Name+": "+what, (float64(i)+done)/float64(len(sections)))
		}
		figures, err := s.Measure(ctx, plan)
		if err != nil {
			problems = append(problems, fmt.Errorf("section %s: %w", s.Name, err))
		}
		problems = append(problems, result.Add(s, plan, figures))
	}
	bar.clear()
	return result, errors.Join(problems...)
}

// results is the folder that keeps a run; its figures are read again.
const results = "results"

var figures = filepath.Join(results, "figures.json")

// keep writes the run to the folder of results, over the last one.
func keep(r *report.Run) error {
	return errors.Join(
		os.MkdirAll(results, 0o755),
		write(figures, r.JSON),
		write(filepath.Join(results, "index.html"), r.Page),
	)
}

// keepBeside writes the run's sections to the folder of results, and leaves the others there.
func keepBeside(r *report.Run, sections []figure.Section) error {
	f, err := os.Open(figures)
	if err != nil {
		return err
	}
	last, err := report.Read(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", figures, err)
	}
	order := strings.Split(names(sections), ",")
	if err := last.Replace(r, order); err != nil {
		return fmt.Errorf("%s: %w", figures, err)
	}
	return keep(last)
}

func write(name string, content func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(content(f), f.Close())
}
