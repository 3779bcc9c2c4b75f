// Writing a violation down: as a scenario, as a text, and as a picture.

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/picture"
	"github.com/hustings/hustings/simulation/trace"
)

// shrinkFor bounds the time spent on shrinking a violation.
const shrinkFor = 2 * time.Minute

// writeViolation shrinks a failing run, writes it to a folder of its own, and returns
// the folder's name.
func (f *worldFlags) writeViolation(cmd *cobra.Command, out string, o simulation.Options) (string, error) {
	original, _, err := simulation.Record(o)
	if err != nil {
		return "", err
	}
	shrunk := shrink(cmd, original)
	folder := filepath.Join(out, fmt.Sprintf("violation-%d", o.Seed))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	text := fmt.Sprintf("# Shrunk from: %s\n%v", f.replay(&o), shrunk)
	scenario := filepath.Join(folder, "scenario.txt")
	if err := os.WriteFile(scenario, []byte(text), 0o666); err != nil {
		return "", err
	}
	if err := confirm(text); err != nil {
		return "", fmt.Errorf("%s: %w", scenario, err)
	}
	traces, err := traced(original, shrunk)
	if err != nil {
		return "", err
	}
	err = write(filepath.Join(folder, "trace.txt"), traces[1].WriteText)
	if err != nil {
		return "", err
	}
	page := picture.Page{
		Title: fmt.Sprintf("Seed %d", o.Seed), Replay: "hustings replay " + scenario,
		Traces: []picture.Tab{{Name: "shrunk", Trace: traces[1]}, {Name: "original", Trace: traces[0]}},
	}
	return folder, writePicture(filepath.Join(folder, "picture.html"), page)
}

// confirm plays the written scenario twice, because it is useful only if every replay
// shows the same violation.
func confirm(text string) error {
	scenario, err := simulation.ParseScenario(strings.NewReader(text))
	if err != nil {
		return err
	}
	var seen [2]simulation.Result
	for i := range seen {
		if seen[i], err = scenario.Run(); err != nil {
			return err
		}
	}
	if seen[0].Digest != seen[1].Digest || seen[0].Violation == nil || seen[1].Violation == nil {
		return errors.New("it does not show the same violation every time it is played")
	}
	return nil
}

// shrink makes a scenario small, and shows its progress.
func shrink(cmd *cobra.Command, s *simulation.Scenario) *simulation.Scenario {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, shrinkFor)
	defer cancel()
	bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(cmd.ErrOrStderr()), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetVisibility(isTerminal(cmd.ErrOrStderr())))
	defer func() { _ = bar.Finish() }() // it only draws
	return s.Shrink(ctx, func(runs, left int) {
		bar.Describe(fmt.Sprintf("shrinking: %d runs, %d faults and choices left", runs, left))
		_ = bar.Set(runs)
	})
}

func traced(all ...*simulation.Scenario) (traces []*trace.Trace, err error) {
	for _, s := range all {
		t, err := s.Trace()
		if err != nil {
			return nil, err
		}
		traces = append(traces, t)
	}
	return traces, nil
}
