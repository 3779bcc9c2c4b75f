// Measuring very many groups.

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/hustings/hustings/cmd/hustings/internal/stress"
	"github.com/hustings/hustings/elector"
)

// stressFlags say what is run and measured.
type stressFlags struct {
	stress.Options
	nodeBeats, asJSON bool
}

func newStress() *cobra.Command { return new(stressFlags).command() }

func (f *stressFlags) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stress",
		Short: "Measure what very many groups cost on this machine",
		Long: `Measure what very many groups cost on this machine. stress runs some nodes in this
process, each of which is a member of all groups, and waits until every group has a
leader. It measures for a while what the groups cost although nothing happens. Then the
node that leads the most groups stops without a word, as if its machine had lost its
power, and stress measures how long it takes until every group has a leader again.

T in its output is the detection time, --leak heartbeats: a leader that was silent for
so long is taken for dead. Times include T, because the others cannot know earlier.

All nodes share the cores of this machine, and CPU times are of all nodes together. On
machines of their own they have more. No disk is used. A million groups on three nodes
need about 6 GB.

Exit codes: 0 all was measured, 1 something failed, 2 the command line is wrong,
3 interrupted; what was measured until then is printed.`,
		Example: `  hustings stress
  hustings stress --groups 100000 --for 30s
  hustings stress --groups 1000 --tcp        # nodes connected by gRPC over loopback
  hustings stress --node-beats=false         # what groups cost that beat by themselves`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	timing := elector.DefaultTiming()
	f.Timing = timing
	flags := cmd.Flags()
	flags.IntVar(&f.Groups, "groups", 10_000, "the `number` of groups")
	flags.IntVar(&f.Nodes, "nodes", 3, "the `number` of nodes")
	flags.DurationVar(&f.Idle, "for", 10*time.Second, "for how much `time` idle groups are measured")
	flags.BoolVar(&f.Kill, "kill", true, "then stop the node that leads the most groups")
	flags.BoolVar(&f.TCP, "tcp", false, "connect the nodes by gRPC over loopback, not in memory")
	flags.DurationVar(&f.Timing.Heartbeat, "heartbeat", timing.Heartbeat, "the `interval` of heartbeats")
	flags.IntVar(&f.Timing.Leak, "leak", 10, "after what `number` of heartbeats a silent leader is taken for dead")
	flags.BoolVar(&f.Leases, "leases", false, "leaders hold a lease")
	flags.BoolVar(&f.nodeBeats, "node-beats", true, "nodes beat for all their groups; false: every group beats by itself")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object on one line")
	return cmd
}

func (f *stressFlags) run(cmd *cobra.Command) error {
	f.NoNodeBeats, f.CPU = !f.nodeBeats, cpuTime
	if err := f.Check(); err != nil {
		return usageError{err}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second interrupt ends it at once
	bar := newStressBar(cmd.ErrOrStderr())
	f.Progress = bar.show
	report, err := stress.Run(ctx, f.Options)
	bar.finish()
	if err != nil {
		return err
	}
	if f.asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = report.Print(cmd.OutOrStdout())
	}
	if err == nil && !report.Complete {
		return unfinishedError{fmt.Errorf("not complete: %s", report.Stopped)}
	}
	return err
}

// stressBar shows what is under way.
type stressBar struct {
	*progressbar.ProgressBar
	what string
}

func newStressBar(stderr io.Writer) *stressBar {
	return &stressBar{ProgressBar: progressbar.NewOptions(-1, progressbar.OptionSetWriter(stderr), progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetVisibility(isTerminal(stderr)), progressbar.OptionThrottle(100*time.Millisecond))}
}

// show shows how much of something is done; of is negative if it has no known end.
func (b *stressBar) show(what string, done, of int) {
	if b.what != what {
		b.what = what
		b.Reset()
		b.Describe(what)
	}
	if b.GetMax() != of {
		b.ChangeMax(of)
	}
	_ = b.Set(min(done, max(of, 0))) // it only draws
}

func (b *stressBar) finish() { _ = b.Finish() }
