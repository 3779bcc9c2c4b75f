// Command ledger is a small replicated storage engine on hustings.
//
//	go run ./examples/ledger                                  three nodes in this process, and a prompt
//	go run ./examples/ledger --node n0 --data /tmp/n0 --new   one of three nodes, for the first time
//	go run ./examples/ledger --ask                            a prompt for nodes that run elsewhere
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/examples/ledger/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errUsage): // the flags have said what is wrong
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "ledger:", err)
	os.Exit(1)
}

// errUsage is the error of a command line that cannot be understood.
var errUsage = errors.New("see --help")

// options are what all nodes and clients have to agree on, and what is one node's own.
type options struct {
	nodes  string
	shards uint
	node   string
	dir    string
	fresh  bool
	asks   bool

	detection time.Duration
	leases    bool
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("ledger", flag.ContinueOnError)
	flags.StringVar(&o.nodes, "nodes", "n0=127.0.0.1:7100,n1=127.0.0.1:7102,n2=127.0.0.1:7104", "all nodes with their `addresses`; each uses the next port, too")
	flags.UintVar(&o.shards, "shards", 8, "how many `shards` the keys are spread over")
	flags.StringVar(&o.node, "node", "", "run this `node`")
	flags.StringVar(&o.dir, "data", "", "the `folder` of the node's data")
	flags.BoolVar(&o.fresh, "new", false, "the node runs for the first time")
	flags.BoolVar(&o.asks, "ask", false, "ask nodes that run elsewhere")
	flags.DurationVar(&o.detection, "detection", elector.DefaultTiming().Detection(), "the `time` after which a silent leader is taken for dead")
	flags.BoolVar(&o.leases, "leases", false, "leaders may answer reads alone; when one is killed, the next one waits for its lease to end")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	addresses, err := parse(o.nodes)
	if err != nil {
		return err
	}
	switch {
	case o.shards == 0 || o.shards > 1<<16:
		return fmt.Errorf("--shards is %d, want 1 to %d", o.shards, 1<<16)
	case o.node != "":
		return runNode(ctx, o, addresses)
	case o.asks:
		return prompt(ctx, &cluster{addresses: addresses, shards: uint32(o.shards)}, os.Stdin, os.Stdout)
	}
	return runLocal(ctx, o, addresses, os.Stdin, os.Stdout)
}

// parseFlags reads the command line, which has nothing but flags, or says what is wrong with it and how it is used.
func parseFlags(flags *flag.FlagSet, args []string) error {
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", err, errUsage)
	case flags.NArg() > 0:
		err := fmt.Errorf("there is no command %q, only flags: %w", flags.Arg(0), errUsage)
		_, _ = fmt.Fprintln(flags.Output(), err)
		flags.Usage()
		return err
	}
	return nil
}

// parse reads a list like n0=host:port,n1=host:port.
func parse(list string) (map[string]string, error) {
	addresses := map[string]string{}
	for one := range strings.SplitSeq(list, ",") {
		id, address, ok := strings.Cut(one, "=")
		if !ok || id == "" || addresses[id] != "" {
			return nil, fmt.Errorf("--nodes: %q is not like n0=127.0.0.1:7100, or is there twice", one)
		}
		if _, err := server.ElectionsAt(address); err != nil {
			return nil, fmt.Errorf("--nodes: %w", err)
		}
		addresses[id] = address
	}
	return addresses, nil
}

// config describes one node.
func config(o options, addresses map[string]string, id string, failed func(error)) server.Config {
	return server.Config{
		Self: id, Addresses: addresses, Dir: o.dir, New: o.fresh, Shards: uint32(o.shards), Timing: timing(o.detection), Leases: o.leases,
		Failed: failed, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

// timing has ten heartbeats in a detection time. Nodes beat for all of their shards together, so that costs little.
func timing(detection time.Duration) elector.Timing {
	return elector.Timing{
		Heartbeat: detection / 10, Leak: 10, MinVoteWait: detection / 10, MaxVoteWait: detection / 3, RoundTimeout: detection / 3, DriftMargin: detection / 20,
	}
}

// start starts a node. If the disk hangs, or pebble finds that it is damaged, begin may never return.
func start(ctx context.Context, begin func() (*server.Node, error), failed <-chan error) (*server.Node, error) {
	var n *server.Node
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n, err = begin()
	}()
	select {
	case <-ended:
		return n, err
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// runNode runs one node until it is told to end, and then hands over what it leads.
func runNode(ctx context.Context, o options, addresses map[string]string) error {
	if addresses[o.node] == "" {
		return fmt.Errorf("--node: %q is not among --nodes", o.node)
	}
	if o.dir == "" {
		return errors.New("--node needs --data, the folder of its data")
	}
	failed := make(chan error, 1)
	c := config(o, addresses, o.node, func(err error) { failed <- err })
	n, err := start(ctx, func() (*server.Node, error) { return server.Start(c) }, failed)
	if err != nil {
		return fmt.Errorf("%s has not started: %w", o.node, err)
	}
	fmt.Printf("%s serves at %s\n", o.node, addresses[o.node])
	select {
	case <-ctx.Done():
	case err := <-failed:
		return err // without a word: nothing may be written any more
	}
	wait, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return n.Stop(wait)
}
