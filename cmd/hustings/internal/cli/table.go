// The table of leaders that a node passes on to programs that route requests.

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/operator"
)

// tableFlags are the flags of table.
type tableFlags struct {
	operation
	follow bool
}

func newTable() *cobra.Command {
	var f tableFlags
	cmd := f.ofNodes("table", "Show who leads each group, as a node knows it", `  hustings table -a 10.0.0.1:7000
  hustings table -a 10.0.0.1:7000 --prefix orders- --watch --json`, 3*time.Second, f.table)
	cmd.Long = `Show who leads each group that takes part at a node, as that node knows it, and where the
leader is. Programs that route requests read the same table (package operator/route). All
groups are shown, however many there are, sorted by name. A dash stands for no leader, or
an address that the node does not know.

With --watch each change is a line, from then on until interrupted. If groups change faster
than lines are read, changes are skipped, but never the latest one of a group. The command
fails when the node is lost.`
	flags := cmd.Flags()
	flags.Lookup("address").Usage = "the `host:port` of the node"
	flags.Lookup("timeout").Usage = "how much `time` each part of the table may take; changes are waited for as long as it takes"
	flags.StringVar(&f.prefix, "prefix", "", "only the groups whose names begin with this `text`")
	flags.BoolVar(&f.follow, "watch", false, "go on with each change, until interrupted")
	return cmd
}

// shownRow is a row as it is printed with --json.
type shownRow struct {
	Time    string `json:"time,omitempty"` // of a change
	Group   string `json:"group"`
	Term    uint64 `json:"term"`
	Leader  string `json:"leader,omitempty"`
	Address string `json:"address,omitempty"`
	Ended   bool   `json:"ended,omitempty"` // the group takes part at the node no more
}

func shownRowOf(row *operator.Row) shownRow {
	return shownRow{Group: row.Group, Term: uint64(row.Term), Leader: row.Leader, Address: row.Address, Ended: row.Ended}
}

func (f *tableFlags) table(ctx context.Context, cmd *cobra.Command, _ []string) error {
	if len(f.addresses) != 1 {
		return usageError{fmt.Errorf("--address names %d nodes, want one", len(f.addresses))}
	}
	files, err := f.files()
	if err != nil {
		return err
	}
	c, err := operator.Dial(f.addresses[0], files)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // the rows were read, or another error says why not
	patient, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(f.timeout, func() { cancel(errTooSlow) })
	defer late.Stop()
	p := tablePrinter{tableFlags: f, out: cmd.OutOrStdout(), first: make(map[string]operator.Row)}
	for rows, err := range c.Table(patient, f.prefix) {
		if err != nil {
			return err
		}
		late.Reset(f.timeout)
		if err := p.take(&rows); err != nil || p.complete && !f.follow {
			return err
		}
		if p.complete {
			late.Stop()
		}
	}
	switch {
	case errors.Is(context.Cause(patient), errTooSlow):
		return fmt.Errorf("%s: %w", c.Address(), errTooSlow)
	case !p.complete:
		return unfinishedError{errors.New("interrupted before all rows had come")}
	}
	return nil // this is how --watch ends
}

// tablePrinter prints a table once it is complete, and then its changes.
type tablePrinter struct {
	*tableFlags
	out      io.Writer
	first    map[string]operator.Row // the rows until it is complete
	complete bool
}

func (p *tablePrinter) take(rows *operator.Rows) error {
	if p.complete {
		return p.printChanges(rows.Rows)
	}
	for _, row := range rows.Rows {
		if p.first[row.Group] = row; row.Ended {
			delete(p.first, row.Group)
		}
	}
	if p.complete = rows.Current; !p.complete {
		return nil
	}
	defer func() { p.first = nil }() // there may be very many
	return p.printRows()
}

// printRows prints all groups, sorted by name.
func (p *tablePrinter) printRows() error {
	var rows []shownRow
	for _, group := range slices.Sorted(maps.Keys(p.first)) {
		row := p.first[group]
		rows = append(rows, shownRowOf(&row))
	}
	if p.asJSON {
		return p.printLines(rows)
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "GROUP\tTERM\tLEADER\tADDRESS")
	for i := range rows {
		s := &rows[i]
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", s.Group, s.Term, cmp.Or(s.Leader, "-"), cmp.Or(s.Address, "-"))
	}
	return w.Flush()
}

// printChanges prints each change as a line, with the time of day.
func (p *tablePrinter) printChanges(changed []operator.Row) error {
	var rows []shownRow
	at := time.Now().Format(node.TimeOfDay)
	for i := range changed {
		rows = append(rows, shownRowOf(&changed[i]))
		rows[i].Time = at
	}
	return p.printLines(rows)
}

func (p *tablePrinter) printLines(rows []shownRow) (err error) {
	for i := range rows {
		if p.asJSON {
			err = json.NewEncoder(p.out).Encode(&rows[i])
		} else {
			_, err = fmt.Fprintln(p.out, rows[i].line())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// line is a change for people.
func (s *shownRow) line() string {
	what := "no leader"
	switch {
	case s.Ended:
		what = "ended at this node"
	case s.Leader != "":
		what = strings.TrimSpace("leader " + s.Leader + " " + s.Address)
	}
	return fmt.Sprintf("%s  %-24s term %-6d %s", s.Time, s.Group, s.Term, what)
}
