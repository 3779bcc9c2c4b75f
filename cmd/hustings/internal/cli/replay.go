// Replaying a run: a scenario from a file, or a seed.

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/explore"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/picture"
	"github.com/hustings/hustings/simulation/trace"
)

// replayFlags say which run is shown, and how.
type replayFlags struct {
	world      worldFlags
	seed       uint64
	branches   branchFlag
	html       string
	text, step bool
	group      int // the one to show; none: the one in which an invariant did not hold
}

func newReplay() *cobra.Command { return new(replayFlags).command() }

func (f *replayFlags) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay [FILE]",
		Short: "Replay a simulated run",
		Long: `Replay a simulated run: a scenario from a file, or a seed, which draws everything that
no flag decides, as with sim. Without --text, --step or --html it only says how the run
ended. The command fails if the run did not go as the scenario expects, or if an
invariant did not hold. A file of explore is played on plain machines; its times only
show an order.`,
		Example: `  hustings replay violation-35/scenario.txt --html picture.html
  hustings replay --seed 35 --text
  hustings replay story.txt --step
  hustings replay --world lease --seed 35 --text`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 0, "the `seed`")
	f.world.add(flags)
	flags.StringVar(&f.world.strict, "strict", "off", "with --world lease, candidates do not trust the database's clock: on or off")
	flags.Lookup("strict").NoOptDefVal = "on"
	flags.Var(&f.branches, "branch", "from a time on, take the choices of another seed")
	flags.IntVar(&f.group, "group", none, "of several groups, show the one with this `number`, from 0 (default: the one in which an invariant did not hold, or the first)")
	flags.Lookup("group").DefValue = "0" // so that help does not show -1
	flags.StringVar(&f.html, "html", "", "write a picture of the run to this `file`")
	flags.BoolVar(&f.text, "text", false, "print what happened, line by line")
	flags.BoolVar(&f.step, "step", false, "print what happened, one line for each press of Enter")
	return cmd
}

func (f *replayFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.world.check(); err != nil {
		return usageError{err}
	}
	if len(args) == 1 == cmd.Flags().Changed("seed") {
		return usageError{errors.New("want either the file of a scenario or --seed")}
	}
	if f.world.kind == leaseWorld {
		if len(args) == 1 {
			return usageError{errors.New("--world lease has no scenarios, want --seed")}
		}
		return f.lease(cmd)
	}
	s, again, err := f.scenario(args)
	if err != nil {
		return err
	}
	t, err := f.trace(s)
	switch {
	case err != nil && len(args) == 1:
		return fmt.Errorf("%s: %w", args[0], err)
	case err != nil:
		return err
	}
	if err := f.show(cmd, t, again); err != nil {
		return err
	}
	return verdict(cmd.OutOrStdout(), t, s)
}

// options returns the options of the seed.
func (f *replayFlags) options() simulation.Options {
	o := f.world.options(f.seed)
	o.Branches = f.branches
	return o
}

// none says that no group was chosen.
const none = -1

// trace plays the run and returns its trace.
func (f *replayFlags) trace(s played) (*trace.Trace, error) {
	if f.group == none {
		return s.Trace()
	}
	of, several := s.(interface {
		TraceGroup(place int) (*trace.Trace, error)
	})
	if !several {
		return nil, errors.New("--group needs a simulated run: the explorer has only one group")
	}
	return of.TraceGroup(f.group)
}

// played is a run that can be shown.
type played interface {
	Trace() (*trace.Trace, error)
	Expects(i invariant.Invariant) bool
}

// scenario reads the file, or plays the seed and records what it drew. It also returns
// the command that replays it.
func (f *replayFlags) scenario(args []string) (played, string, error) {
	if len(args) == 0 {
		o := f.options()
		s, _, err := simulation.Record(o)
		return s, f.world.replay(&o), err
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return nil, "", err
	}
	s, err := parse(text)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", args[0], err)
	}
	return s, "hustings replay " + args[0], nil
}

// parse reads a scenario of the simulator or of the explorer.
func parse(text []byte) (played, error) {
	for line := range bytes.Lines(text) {
		switch line = bytes.TrimSpace(line); {
		case bytes.Equal(line, []byte(explore.ScriptHead)):
			return explore.ParseScript(bytes.NewReader(text))
		case len(line) > 0 && line[0] != '#':
			return simulation.ParseScenario(bytes.NewReader(text))
		}
	}
	return nil, errors.New("it holds no scenario")
}

// show prints or draws the run as the flags say.
func (f *replayFlags) show(cmd *cobra.Command, t *trace.Trace, again string) error {
	switch {
	case f.step:
		lines := make([]string, len(t.Moments))
		for i := range lines {
			lines[i] = t.Line(i)
		}
		return stepThrough(cmd.InOrStdin(), cmd.OutOrStdout(), lines)
	case f.text:
		if err := t.WriteText(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	if f.html == "" {
		return nil
	}
	page := picture.Page{Title: filepath.Base(f.html), Replay: again, Traces: []picture.Tab{{Name: "run", Trace: t}}}
	return writePicture(f.html, page)
}

// stepThrough prints one of lines for each line that it reads, until either ends.
func stepThrough(in io.Reader, out io.Writer, lines []string) error {
	enter := bufio.NewScanner(in)
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil || !enter.Scan() {
			return err
		}
	}
	return enter.Err()
}

// verdict says how the run ended.
func verdict(out io.Writer, t *trace.Trace, s played) error {
	fmt.Fprintf(out, "%v of virtual time, %d events, %d elections\n", t.Virtual, t.Events, t.Elections)
	for _, line := range t.Unmet {
		fmt.Fprintln(out, line)
	}
	switch {
	case len(t.Unmet) > 0:
		return errors.New("the run did not go as the scenario expects")
	case t.Violation != nil && s.Expects(t.Violation.Invariant):
		_, err := fmt.Fprintf(out, "as expected: %v\n", t.Violation)
		return err
	case t.Violation != nil:
		return t.Violation
	default:
		_, err := fmt.Fprintln(out, "no invariant was violated")
		return err
	}
}

func writePicture(name string, page picture.Page) error {
	return write(name, func(w io.Writer) error { return picture.Write(w, page) })
}

// write creates a file and writes its content through a buffer.
func write(name string, content func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(file)
	return errors.Join(content(buffer), buffer.Flush(), file.Close())
}
