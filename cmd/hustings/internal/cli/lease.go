// Showing the leases in a database, forcing them, and releasing them.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
	"github.com/hustings/hustings/lease"
)

// leaseOperation holds the flags and the database that all commands to leases share.
type leaseOperation struct {
	name    string
	timeout time.Duration
	asJSON  bool
	db      *database.Database
	out     io.Writer
	errs    io.Writer
}

func newLease() *cobra.Command {
	cmd := &cobra.Command{Use: "lease", Short: "Show the leases in a database, force them, and release them"}
	cmd.AddCommand(newLeaseStatus(), newLeaseForce(), newLeaseRelease())
	return cmd
}

// command completes cmd: it opens the database and calls run. named says that --name is
// required.
func (o *leaseOperation) command(cmd *cobra.Command, named bool, run func(context.Context) error) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if named && o.name == "" {
			return usageError{errors.New("--name is not given")}
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
		defer stop()
		o.out, o.errs = cmd.OutOrStdout(), cmd.ErrOrStderr()
		if o.db, err = database.Open(args[0], database.ForOperators); err != nil {
			return usageError{err}
		}
		defer func() { err = errors.Join(err, o.db.Close()) }()
		if err = tried("to connect", o.db.Prepare(ctx)); err == nil {
			err = run(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", o.db.Name, err)
		}
		return nil
	}
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "", "the `name` of the lease")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "how much `time` an answer may take")
	flags.BoolVar(&o.asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// tried says what was being done when the database failed.
func tried(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("tried %s: %s", what, database.Reason(err))
}

func newLeaseStatus() *cobra.Command {
	var o leaseOperation
	return o.command(&cobra.Command{
		Use:     "status URL",
		Short:   "Show who holds the leases in a database",
		Example: `  hustings lease status postgres://user@db/app`,
	}, false, o.status)
}

func newLeaseForce() *cobra.Command {
	var o leaseOperation
	var heir string
	cmd := o.command(&cobra.Command{
		Use:   "force URL --name NAME",
		Short: "End the term of a lease's holder",
		Long: `End the term of a lease's holder, and optionally name its heir. Writes that are fenced by
the old term are refused from now on. The old holder leaves office at its next renewal; if
it is dead, the candidates wait until its lease has expired. All candidates leave the lease
to the heir until it has not changed for two TTLs. So if no candidate has the name that you
give, there is no leader for that time.`,
		Example: `  hustings lease force postgres://user@db/app --name jobs --heir host2`,
	}, true, func(ctx context.Context) error { return o.force(ctx, heir) })
	cmd.Flags().StringVar(&heir, "heir", "", "the `node` that may take the lease first, by its --node")
	return cmd
}

func newLeaseRelease() *cobra.Command {
	var o leaseOperation
	var dead bool
	cmd := o.command(&cobra.Command{
		Use:   "release URL --name NAME --dead",
		Short: "Release the lease of a dead holder",
		Long: `Release the lease of a dead holder, so that nobody has to wait until it expires. If the
holder is alive use "lease force", which lets it finish: to release the lease of a living
holder makes two leaders. The command therefore waits for half of the TTL, in which a
living holder renews its lease, and refuses if it was renewed. But a living holder that
cannot reach the database looks dead, too: --dead is your word that it is.`,
		Example: `  hustings lease release postgres://user@db/app --name jobs --dead`,
	}, true, func(ctx context.Context) error { return o.release(ctx, dead) })
	cmd.Flags().BoolVar(&dead, "dead", false, "confirm that the holder's process has ended")
	return cmd
}

func (o *leaseOperation) status(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	if o.name != "" {
		return o.print(ctx)
	}
	names, err := o.db.Store.Names(ctx)
	if err != nil {
		return tried("to list the leases", err)
	}
	records, err := o.db.Store.Read(ctx, names)
	if err != nil {
		return tried("to read the leases", err)
	}
	if len(records) == 0 {
		_, err = fmt.Fprintf(o.errs, "there are no leases in %s\n", o.db.Name)
		return err
	}
	slices.SortFunc(records, func(a, b lease.Record) int { return strings.Compare(a.Name, b.Name) })
	for _, r := range records {
		if err := o.show(r); err != nil {
			return err
		}
	}
	return nil
}

func (o *leaseOperation) force(ctx context.Context, heir string) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	if _, err := o.read(ctx); err != nil {
		return err
	}
	if err := o.db.Store.Force(ctx, o.name, heir); err != nil {
		return tried("to force the lease", err)
	}
	return o.print(ctx)
}

func (o *leaseOperation) release(ctx context.Context, dead bool) error {
	r, err := o.read(ctx)
	if err != nil {
		return err
	}
	if r.Released || r.Left <= 0 {
		return o.show(r) // strict candidates wait all the same: the database's clock may be wrong
	}
	if !dead {
		return usageError{fmt.Errorf("%s: a living holder would go on leading; give --dead if you know that its process has ended", said(r))}
	}
	if err := o.awaitDeath(ctx, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	held := lease.Held{Name: o.name, Term: r.Term}
	if r.Holder == "" {
		held.Term-- // Force has raised it
	}
	if err := o.db.Store.Release(ctx, r.Holder, held); err != nil {
		return tried("to release the lease", err)
	}
	if o.db.Waker != nil {
		if err := o.db.Waker.Wake(ctx, o.name); err != nil {
			return fmt.Errorf("it is free, but candidates were not woken: %s", database.Reason(err))
		}
	}
	return o.print(ctx)
}

// awaitDeath waits until a living holder would have renewed the lease, which it does at
// least twice in a TTL. It returns an error if the lease was renewed or has changed hands.
func (o *leaseOperation) awaitDeath(ctx context.Context, first lease.Record) error {
	wait := first.TTL / 2
	stderr := o.errs
	fmt.Fprintf(stderr, "waiting %v to see whether the lease is renewed\n", wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	now, err := o.read(ctx)
	if err != nil {
		return err
	}
	switch {
	case now.Term != first.Term:
		return fmt.Errorf("the lease has changed hands meanwhile: %s", said(now))
	case now.Renewals != first.Renewals:
		return fmt.Errorf("the holder is alive, because it has just renewed the lease: %s; use lease force", said(now))
	}
	return nil
}

// read reads the named lease.
func (o *leaseOperation) read(ctx context.Context) (lease.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	found, err := o.db.Store.Read(ctx, []string{o.name})
	if err != nil {
		return lease.Record{}, tried("to read the lease", err)
	}
	if len(found) == 0 {
		return lease.Record{}, fmt.Errorf("there is no lease %q", o.name)
	}
	return found[0], nil
}

func (o *leaseOperation) print(ctx context.Context) error {
	r, err := o.read(ctx)
	if err != nil {
		return err
	}
	return o.show(r)
}

// shownLease is a lease as it is printed.
type shownLease struct {
	Name     string `json:"name"`
	Term     uint64 `json:"term"`
	State    string `json:"state"` // held, forced, expired or released
	Holder   string `json:"holder,omitempty"`
	Heir     string `json:"heir,omitempty"`
	Renewals uint64 `json:"renewals"`
	TTL      int64  `json:"ttl_nanos"`
	Left     *int64 `json:"left_nanos"` // null: the store cannot tell
}

func (o *leaseOperation) show(r lease.Record) error {
	if o.asJSON {
		var left *int64
		if r.Left != lease.LeftUnknown {
			left = new(int64(r.Left))
		}
		return json.NewEncoder(o.out).Encode(shownLease{
			Name: r.Name, Term: uint64(r.Term), State: state(r), Holder: r.Holder, Heir: r.Heir,
			Renewals: r.Renewals, TTL: int64(r.TTL), Left: left,
		})
	}
	_, err := fmt.Fprintf(o.out, "%-20s term %-6d %s\n", printable(r.Name), r.Term, said(r))
	return err
}

// printable quotes a name that is unfit for a terminal. Anyone who can write to the database
// could otherwise move the cursor or hide other lines.
func printable(name string) string {
	unfit := func(r rune) bool { return !unicode.IsPrint(r) }
	if strings.ContainsFunc(name, unfit) || !utf8.ValidString(name) {
		return strconv.Quote(name)
	}
	return name
}

func state(r lease.Record) string {
	switch {
	case r.Released:
		return "released"
	case r.Left <= 0:
		return "expired"
	case r.Holder == "":
		return "forced"
	}
	return "held"
}

// said describes a lease in words. Some stores do not know how much of it is left.
func said(r lease.Record) string {
	const most = 10 * time.Millisecond
	text := map[string]string{
		"released": "free",
		"expired":  "free, expired",
		"forced":   "held by nobody until its last holder gives it back",
		"held":     "held by " + printable(r.Holder),
	}[state(r)]
	switch left := r.Left.Round(most); {
	case state(r) == "held" && left > 0:
		text += fmt.Sprintf(", %v left of %v", left, r.TTL)
	case state(r) == "held":
		text += fmt.Sprintf(", TTL %v", r.TTL)
	case state(r) == "forced" && left > 0:
		text += fmt.Sprintf(", or %v have passed", left)
	case state(r) == "expired" && left < 0:
		text += fmt.Sprintf(" %v ago", -left)
	}
	if state(r) == "expired" && r.Holder != "" {
		text += "; " + printable(r.Holder) + " held it"
	}
	if r.Heir != "" {
		text += "; " + printable(r.Heir) + " is next"
	}
	return text
}
