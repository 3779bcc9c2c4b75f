// Command waits measures how long the users of a replicated store wait when its leader goes: the longest time between two
// acknowledged writes, while clients write at a steady rate. The stores are examples/ledger without leases and
// with them, etcd, and a like program on hashicorp/raft, each as three processes on this machine.
//
//	cd bench/waits && go run . --tries 100
//	cd bench/waits && go run . --only ours,etcd --events kill,drain --tries 10
//
// An event is one of
//
//	nothing  clients write at their rate
//	flood    clients write as fast as each is answered
//	kill     the leader's process gets SIGKILL
//	stop     it gets SIGSTOP, so that its connections stay
//	hang     nothing is written to the leader's disk any more (this needs root and /dev/fuse)
//	drain    the leader is told to hand over
//	roll     all processes are restarted, one after another
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == hashicorpNode {
		if err := runHashicorp(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "hashicorp:", err)
			os.Exit(1)
		}
		return
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // clients log each connection that breaks, which is what this is about
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "waits:", err)
		os.Exit(1)
	}
}

// options are what is measured.
type options struct {
	only, events string
	tries        int
	detection    time.Duration
	writers      int
	every        time.Duration
	json         string
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("waits", flag.ContinueOnError)
	flags.StringVar(&o.only, "only", "ours,leases,etcd,hashicorp", "the `stores`")
	flags.StringVar(&o.events, "events", "nothing,flood,kill,stop,hang,drain,roll", "what `happens`; with nothing and flood, latency and throughput are measured in a tenth of the tries")
	flags.IntVar(&o.tries, "tries", 10, "how often each")
	flags.DurationVar(&o.detection, "detection", 300*time.Millisecond, "the `time` after which a silent leader is taken for dead; 0: the default of each store")
	flags.IntVar(&o.writers, "writers", 8, "how many `clients` write")
	flags.DurationVar(&o.every, "every", 10*time.Millisecond, "how often each client writes")
	flags.StringVar(&o.json, "json", "", "a `file` for the results")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "waits-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var all []*series
	for name := range strings.SplitSeq(o.only, ",") {
		for event := range strings.SplitSeq(o.events, ",") {
			all = append(all, &series{Store: name, Event: event})
		}
	}
	binaries, err := build(ctx, dir)
	if err != nil {
		return err
	}
	failed := measure(ctx, o, all, binaries, dir)
	for _, s := range all {
		fmt.Println(s)
	}
	if o.json == "" {
		return failed
	}
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return errors.Join(failed, os.WriteFile(o.json, append(text, '\n'), 0o600))
}

// measure has the stores take turns, so that whatever else the machine does hits all of them. If it is interrupted, what was measured so far
// stays.
func measure(ctx context.Context, o options, all []*series, binaries map[string]string, dir string) error {
	defer fmt.Fprintln(os.Stderr)
	for try := range o.tries {
		for _, s := range all {
			if quiet(s.Event) && try%10 > 0 {
				continue
			}
			if err := s.tryOnce(ctx, o, binaries, filepath.Join(dir, fmt.Sprintf("%s-%s-%d", s.Store, s.Event, try))); err != nil {
				return fmt.Errorf("%s, %s: %w", s.Store, s.Event, err)
			}
			fmt.Fprintf(os.Stderr, "\r%d of %d: %-40s", try+1, o.tries, s.Store+", "+s.Event)
		}
	}
	return nil
}

// build builds what runs as processes, by the name of the store. The program on hashicorp/raft is this one.
func build(ctx context.Context, dir string) (map[string]string, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	binaries := map[string]string{"hashicorp": own, "leases": filepath.Join(dir, "ours")}
	for name, pkg := range map[string]string{"ours": "github.com/hustings/hustings/examples/ledger", "etcd": "go.etcd.io/etcd/server/v3"} {
		binaries[name] = filepath.Join(dir, name)
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", binaries[name], pkg).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
	}
	return binaries, nil
}

// series is what was measured of one store and one event.
type series struct {
	Store, Event string
	Gaps         []time.Duration // in nanoseconds
	Endless      int             `json:",omitempty"` // gaps whose end was not waited for
	Latencies    []time.Duration `json:",omitempty"` // of single writes, if nothing happens
	PerSecond    []float64       `json:",omitempty"`
}

// tryOnce tries, and once more if the store does not come up: something else may have taken a port.
func (s *series) tryOnce(ctx context.Context, o options, binaries map[string]string, dir string) error {
	err := s.try(ctx, o, binaries, dir)
	if errors.Is(err, errNotUp) && ctx.Err() == nil {
		return s.try(ctx, o, binaries, dir+"-again")
	}
	return err
}

// quantile is the smallest value that a share of the values do not exceed.
func quantile(values []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(share*float64(len(sorted))))-1, 0)]
}

func (s *series) String() string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
	if len(s.Gaps) == 0 {
		return fmt.Sprintf("%-10s %-8s was not measured", s.Store, s.Event)
	}
	line := fmt.Sprintf("%-10s %-8s longest gap in ms: p50 %s, p99 %s, max %s (%d tries)", s.Store, s.Event,
		ms(quantile(s.Gaps, 0.5)), ms(quantile(s.Gaps, 0.99)), ms(slices.Max(s.Gaps)), len(s.Gaps))
	if s.Endless > 0 {
		line += fmt.Sprintf("; %d of them had not ended", s.Endless)
	}
	if len(s.Latencies) > 0 {
		slices.Sort(s.PerSecond)
		line += fmt.Sprintf("; a write takes p50 %s, p99 %s; %.0f writes a second", ms(quantile(s.Latencies, 0.5)), ms(quantile(s.Latencies, 0.99)), s.PerSecond[len(s.PerSecond)/2])
	}
	return line
}
