// A search of every interleaving, as the commands run it: with progress, until it is done or stopped, and with a
// report for people or for scripts.

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/hustings/hustings/simulation/explore"
)

// search is one search.
type search struct {
	play   func(ctx context.Context, progress func(explore.Result)) (explore.Result, error)
	bounds map[string]any // for the report
	of     string         // what takes the steps that are counted, in words
	held   string         // the property that was checked, in words
	asJSON bool
	tell   func(*explore.Violation) error // makes the error of a violation
}

// exploreGC is the garbage collector's target, high because a search keeps nearly all that
// it allocates.
const exploreGC = 300

func (s *search) run(cmd *cobra.Command) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer debug.SetGCPercent(debug.SetGCPercent(exploreGC))
	began := time.Now()
	result, err := s.watched(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	report := s.report(&result, time.Since(began))
	if s.asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = s.print(cmd.OutOrStdout(), report, &result)
	}
	switch {
	case err != nil:
		return err
	case result.Violation != nil:
		return s.tell(result.Violation)
	case !result.Complete:
		return unfinishedError{fmt.Errorf("not complete: %s", result.Stopped)}
	}
	return nil
}

// watched plays the search and shows how far it has come.
func (s *search) watched(ctx context.Context, stderr io.Writer) (explore.Result, error) {
	bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(stderr), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(200*time.Millisecond), progressbar.OptionSetVisibility(isTerminal(stderr)))
	defer func() { _ = bar.Finish() }()
	began := time.Now()
	return s.play(ctx, func(r explore.Result) {
		bar.Describe(fmt.Sprintf("%d states, %.0f a second, %d left to check, depth %d, %d MB",
			r.States, float64(r.States-r.Before.States)/time.Since(began).Seconds(), r.Frontier, r.Depth, r.Memory>>20))
		_ = bar.Set64(int64(r.States)) // it only draws
	})
}

// exploreReport is what is printed.
type exploreReport struct {
	States         uint64         `json:"states"`
	Transitions    uint64         `json:"transitions"`
	Steps          uint64         `json:"steps"`
	Depth          int            `json:"depth"`
	Complete       bool           `json:"complete"`
	Stopped        string         `json:"stopped,omitempty"`
	Violations     int            `json:"violations"`
	Violation      string         `json:"violation,omitempty"`
	Path           []string       `json:"path,omitempty"`
	StatesPer      float64        `json:"states_per_second"`
	TransitionsPer float64        `json:"transitions_per_second"`
	StepsPer       float64        `json:"steps_per_second"`
	Seconds        float64        `json:"seconds"`
	Memory         uint64         `json:"peak_memory_bytes"`
	Bounds         map[string]any `json:"bounds"`
}

func (s *search) report(r *explore.Result, took time.Duration) *exploreReport {
	per := func(n uint64) float64 { return float64(n) / took.Seconds() }
	report := &exploreReport{
		States: r.States, Transitions: r.Transitions, Depth: r.Depth, Complete: r.Complete, Stopped: r.Stopped,
		Seconds: took.Seconds(), Memory: r.Memory,
		StatesPer: per(r.States - r.Before.States), TransitionsPer: per(r.Transitions - r.Before.Transitions),
		Steps: r.Steps, StepsPer: per(r.Steps - r.Before.Steps),
		Bounds: s.bounds,
	}
	if r.Violation != nil {
		report.Violations, report.Violation = 1, r.Violation.Error()
		for _, step := range r.Violation.Path {
			report.Path = append(report.Path, step.String())
		}
	}
	return report
}

func (s *search) print(out io.Writer, e *exploreReport, r *explore.Result) error {
	var text strings.Builder
	for i, line := range e.Path {
		fmt.Fprintf(&text, "%3d  %s\n", i+1, line)
	}
	fmt.Fprintf(&text, "%d states, %d transitions for %d steps of %s, depth %d, %d different nodes and %d messages; %.1f s, %d MB\n",
		e.States, e.Transitions, e.Steps, s.of, e.Depth, r.Nodes, r.Messages, e.Seconds, e.Memory>>20)
	switch {
	case r.Violation != nil:
		fmt.Fprintf(&text, "violated after %d steps: %v\n", len(e.Path), r.Violation)
	case r.Complete:
		fmt.Fprintf(&text, "complete: within these bounds every interleaving was seen, and %s\n", s.held)
	default:
		fmt.Fprintf(&text, "NOT complete: %s, with %d states left to check; no invariant was violated so far\n", e.Stopped, r.Frontier)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// untold is the error of a violation of which nothing is written to a file.
func untold(v *explore.Violation) error { return fmt.Errorf("an invariant does not hold: %w", v) }
