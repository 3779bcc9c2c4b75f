// Running a node.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/lease"
)

// serveFlags are the settings of a node that its file lacks, and those that override it.
type serveFlags struct {
	node.Config
	file               string
	members, observers []string
	tls                tlsFlags
	local              int
	drainWait          time.Duration
	asJSON, verbose    bool
	log                string
	run                func(context.Context, node.Config, *node.Printer, *slog.Logger) error // is node.Run, except in tests
}

func newServe() *cobra.Command { return (&serveFlags{run: node.Run}).command() }

func (f *serveFlags) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node that takes part in elections, by votes or by a lease in a database",
		Long: `Run a node that takes part in elections, until it is told to stop (SIGTERM, or Ctrl-C). Then
it drains: it hands over what it leads, for up to --drain-wait, and ends. It does not wait if
nobody is there to take over, and a second signal ends the wait.

Three or more nodes elect by votes. With --lease they elect through a lease in a
database, and two nodes are enough to replace each other. The table of leases is made if
it is missing; a database that cannot be reached is retried.

The store of a node is made once in its life: by "hustings store create", or with --new,
which fails if a voter that answers has heard from this node. --new=if-missing is for
command lines that never change. It makes the store if there is none and all other voters
say that they have never heard from this node, because a node that has lost its disk must
not vote again. All other voters must be up for that.

Each change is printed to stdout as one line; the log goes to stderr. With --exec a
program runs while, and only while, this node leads. Before a handover it is asked to end
(SIGTERM); it is killed when the term is lost or this process ends. With --leases or
--lease it is killed before another node leads, even if this process is stopped.
HUSTINGS_NODE, HUSTINGS_GROUP and HUSTINGS_TERM are in its environment.

A program that hangs would go on leading, because heartbeats do not need it. With --alive
or --notify a leader whose program cannot work hands over to a node that can; if there is
none, it leads on. The command of --alive runs on every node, four times in the time that
--vouch says, with an empty HUSTINGS_TERM where the program does not run.`,
		Example: `  # a first look: three nodes in one process
  hustings serve --local 3

  # with a database and no voters: the holder of the lease "jobs" runs the program
  hustings serve --lease postgres://user@db/app --name jobs --exec 'exec /usr/bin/worker'

  # one of three nodes; --new only the very first time
  hustings serve --node n0 --members n0=10.0.0.1:7000,n1=10.0.0.2:7000,n2=10.0.0.3:7000 \
      --data /var/lib/hustings --tls /etc/hustings --new

  # all of it from a file, and a program that runs on the leader
  hustings serve --config node.yaml --leases --exec 'exec /usr/bin/worker'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.file, "config", "", "a YAML `file` with any of these settings, by the same names; flags override it")
	flags.StringVar(&f.Node, "node", "", "the `id` of this node; with --lease a name for people (default: the host's name)")
	flags.StringVar(&f.Lease, "lease", "", "the `URL` of a database that keeps leases: "+database.Forms)
	flags.StringVar(&f.Name, "name", "", "with --lease: the `name` of the lease")
	flags.DurationVar(&f.TTL, "ttl", 0, "with --lease: how much `time` it lasts after its leader has died (default "+lease.DefaultTiming().TTL.String()+")")
	flags.BoolVar(&f.Strict, "strict", false, "with --lease: do not trust the database's clock, so that there is one leader even if it is wrong")
	flags.StringVar(&f.Group, "group", "demo", "the `name` of the group")
	flags.StringSliceVar(&f.members, "members", nil, "all voters as `id=host:port,...`, this node included")
	flags.StringSliceVar(&f.observers, "observers", nil, "nodes that follow the elections and do not vote, as `id=host:port,...`")
	flags.StringVar(&f.Listen, "listen", "", "the `address` to listen on, if it is not the one in --members")
	flags.StringVar(&f.Data, "data", "", "the `directory` of this node's store")
	flags.Var((*newness)(f), "new", "make this node's store, because the node has never run before; --new=if-missing makes it if there is none and no other voter has ever heard from this node")
	flags.Lookup("new").NoOptDefVal = "true"
	f.tls.add(cmd, "the node that --node names", "--node names another")
	flags.BoolVar(&f.TrustNetwork, "trust-network", false, "listen beyond loopback without TLS")
	flags.StringVar(&f.HTTP, "http", "", "the `address` for /healthz, /readyz, /drained, /leader and /metrics")
	flags.DurationVar(&f.drainWait, "drain-wait", node.DefaultDrainWait, "when told to stop: how much `time` to wait until all that this node leads has been handed over; 0: none")
	flags.BoolVar(&f.Leases, "leases", false, "leaders hold a lease (the same on all nodes)")
	flags.StringSliceVar(&f.Preferred, "preferred", nil, "`ids` of voters that should lead whenever they can")
	flags.StringVar(&f.Timing, "timing", "default", "the intervals: default (detects a dead leader in 300 ms) or dledger (6 s)")
	flags.StringVar(&f.Exec, "exec", "", "a shell `command` that runs while this node leads")
	flags.StringVar(&f.Alive, "alive", "", "a shell `command` whose exit status says whether this node is able to lead; a leader that is not hands over to a node that is")
	flags.BoolVar(&f.Notify, "notify", false, "the program says WATCHDOG=1 to NOTIFY_SOCKET, as systemd's services do; a leader whose program stops doing so hands over")
	flags.DurationVar(&f.Vouch, "vouch", 0, "with --alive or --notify: for how much `time` a word counts (default "+node.DefaultVouch.String()+")")
	flags.IntVar(&f.local, "local", 0, "run `n` nodes, n0, n1, ..., on loopback in this process, for a first look")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object a line")
	flags.BoolVar(&f.verbose, "verbose", false, "log more")
	flags.StringVar(&f.log, "log", "text", "the `format` of the log on stderr: text or json")
	return cmd
}

func (f *serveFlags) serve(cmd *cobra.Command) error {
	ctx, hurry, stop := untilStopped(cmd.Context())
	defer stop()
	out := node.NewPrinter(cmd.OutOrStdout(), f.asJSON)
	log, err := f.logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("local") {
		return f.serveLocal(ctx, cmd, out, log)
	}
	config, err := f.config(cmd)
	if err != nil {
		return err
	}
	config.Hurry = hurry
	if err = f.run(ctx, config, out, log); errors.As(err, new(node.ConfigError)) {
		return usageError{err}
	}
	return err
}

// ofLocal are the flags that --local allows. The others describe a cluster that --local
// would not start.
var ofLocal = []string{"local", "group", "leases", "preferred", "timing", "exec", "alive", "notify", "vouch", "json", "verbose", "log"}

func (f *serveFlags) serveLocal(ctx context.Context, cmd *cobra.Command, out *node.Printer, log *slog.Logger) error {
	var unused []string
	cmd.Flags().Visit(func(given *pflag.Flag) {
		if !slices.Contains(ofLocal, given.Name) {
			unused = append(unused, "--"+given.Name)
		}
	})
	if len(unused) > 0 {
		return usageError{fmt.Errorf("--local does not go with %s, only with --%s",
			strings.Join(unused, ", "), strings.Join(ofLocal[1:], ", --"))}
	}
	const most = 64
	if f.local < 1 || f.local > most {
		return usageError{fmt.Errorf("--local is %d, want 1 to %d nodes", f.local, most)}
	}
	stderr := cmd.ErrOrStderr()
	err := node.Local(ctx, f.local, f.Config, out, log, func(m node.Member) {
		fmt.Fprintf(stderr, "%s is at %s; try: hustings status --address %s\n", m.ID, m.Address, m.Address)
	})
	if errors.As(err, new(node.ConfigError)) {
		return usageError{err}
	}
	return err
}

func (f *serveFlags) logger(to io.Writer) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: slog.LevelWarn}
	if f.verbose {
		options.Level = slog.LevelDebug
	}
	switch f.log {
	case "text":
		return slog.New(slog.NewTextHandler(to, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(to, options)), nil
	}
	return nil, usageError{fmt.Errorf(`--log is %q, want "text" or "json"`, f.log)}
}

// config returns the settings of the file, overridden by the flags.
func (f *serveFlags) config(cmd *cobra.Command) (node.Config, error) {
	if cmd.Flags().Changed("drain-wait") {
		f.DrainWait = &f.drainWait
	}
	c := f.Config
	if f.file != "" {
		file, err := node.ReadConfig(f.file)
		if err != nil {
			return c, err
		}
		c = f.over(cmd, file)
	} else if c.Lease != "" {
		c = f.over(cmd, node.Config{}) // without the defaults of elections by votes
	}
	for _, list := range []struct {
		flag     string
		entries  []string
		observer bool
	}{{"members", f.members, false}, {"observers", f.observers, true}} {
		for _, entry := range list.entries {
			id, address, ok := strings.Cut(entry, "=")
			if _, _, err := net.SplitHostPort(address); !ok || err != nil {
				return c, usageError{fmt.Errorf("--%s: %q is not of the form id=host:port", list.flag, entry)}
			}
			c.Members = append(c.Members, node.Member{ID: id, Address: address, Observer: list.observer})
		}
	}
	if c.Node == "" && c.Lease != "" {
		host, err := os.Hostname()
		if err != nil {
			return c, usageError{fmt.Errorf("--node is not given: %w", err)}
		}
		c.Node = host
	}
	if c.Node == "" {
		return c, usageError{fmt.Errorf("--node is not given")}
	}
	if f.tls.given() {
		files, err := f.tls.files(c.Node)
		if err != nil {
			return c, usageError{err}
		}
		c.TLS = &node.Files{CA: files.CA, Cert: files.Cert, Key: files.Key}
	}
	return c, nil
}

// over overrides a file's settings by the flags that were given.
func (f *serveFlags) over(cmd *cobra.Command, c node.Config) node.Config {
	given := cmd.Flags().Changed
	for _, field := range []struct {
		flag     string
		to, from *string
	}{
		{"node", &c.Node, &f.Node},
		{"group", &c.Group, &f.Group},
		{"listen", &c.Listen, &f.Listen},
		{"data", &c.Data, &f.Data},
		{"http", &c.HTTP, &f.HTTP},
		{"timing", &c.Timing, &f.Timing},
		{"exec", &c.Exec, &f.Exec},
		{"alive", &c.Alive, &f.Alive},
		{"lease", &c.Lease, &f.Lease},
		{"name", &c.Name, &f.Name},
	} {
		if given(field.flag) {
			*field.to = *field.from
		}
	}
	if given("leases") {
		c.Leases = f.Leases
	}
	if given("trust-network") {
		c.TrustNetwork = f.TrustNetwork
	}
	if given("preferred") {
		c.Preferred = f.Preferred
	}
	if given("notify") {
		c.Notify = f.Notify
	}
	if given("vouch") {
		c.Vouch = f.Vouch
	}
	if given("drain-wait") {
		c.DrainWait = f.DrainWait
	}
	if given("ttl") {
		c.TTL = f.TTL
	}
	if given("strict") {
		c.Strict = f.Strict
	}
	if given("members") || given("observers") {
		c.Members = nil
	}
	c.New, c.NewIfMissing = f.New, f.NewIfMissing
	return c
}

// newness is the flag --new: true, false or if-missing.
type newness serveFlags

const ifMissing = "if-missing"

func (*newness) Type() string { return "bool" } // because help shows no value for a bool

func (n *newness) String() string {
	if n.NewIfMissing {
		return ifMissing
	}
	return strconv.FormatBool(n.New)
}

func (n *newness) Set(value string) (err error) {
	if n.NewIfMissing = value == ifMissing; n.NewIfMissing {
		n.New = false
	} else if n.New, err = strconv.ParseBool(value); err != nil {
		err = errors.New(`want no value, or "if-missing"`)
	}
	return err
}

func newWatchdog() *cobra.Command {
	return &cobra.Command{
		Use:       node.WatchdogCommand + " " + node.OuterWatchdog + "|" + node.InnerWatchdog,
		Short:     "Enforce the deadline of a program (for serve --exec)",
		Hidden:    true,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{node.OuterWatchdog, node.InnerWatchdog},
		RunE: func(_ *cobra.Command, args []string) error {
			return node.Watchdog(args[0], os.Stdin)
		},
	}
}
