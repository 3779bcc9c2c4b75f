// The state of nodes with very many groups: counts, or all groups, one after another.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// mostListed is how many groups of a node are listed unasked, and mostExamples how many of those that need
// attention.
const mostListed, mostExamples = 50, 10

// crowd is a node that has more groups than are listed.
type crowd struct {
	address string
	sum     *operator.Summary
}

// eachOnce drops nodes that were asked at two addresses.
func eachOnce(crowds []crowd) (once []crowd) {
	for _, c := range crowds {
		if !slices.ContainsFunc(once, func(other crowd) bool { return other.sum.Node == c.sum.Node }) {
			once = append(once, c)
		}
	}
	return once
}

// stream passes on the state of each of very many groups, node by node. A node that stops answering is passed on
// as an error, and counted. The error is that of each.
func (o *operation) stream(ctx context.Context, crowds []crowd, files *grpcrpc.TLS, each func(*shownStatus) error) (silent int, err error) {
	for _, one := range eachOnce(crowds) {
		var failed error
		err := o.streamOne(ctx, one.address, files, func(s *shownStatus) error {
			failed = each(s)
			return failed
		})
		if failed != nil {
			return silent, failed
		}
		if err != nil {
			silent++
			s := unanswered(one.address, err)
			if err := each(&s); err != nil {
				return silent, err
			}
		}
	}
	return silent, nil
}

var errTooSlow = errors.New("no answer in time")

// streamOne passes on the state of each group of a node. --timeout is for each answer, because how long all of them
// take depends on their number.
func (o *operation) streamOne(ctx context.Context, address string, files *grpcrpc.TLS, each func(*shownStatus) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(o.timeout, func() { cancel(errTooSlow) })
	defer patience.Stop()
	c, err := operator.Dial(address, files)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // the answers were read, or another error says why not
	for r, err := range c.Statuses(ctx, o.prefix) {
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		patience.Reset(o.timeout)
		s := shown(address, r)
		if err := each(&s); err != nil {
			return err
		}
	}
	return nil
}

// print writes the groups that are few as a table, and counts those that are many.
func (o *operation) print(to io.Writer, few []shownStatus, crowds []crowd) error {
	crowds = eachOnce(crowds)
	if len(few) > 0 || len(crowds) == 0 {
		if err := printTable(to, few); err != nil {
			return err
		}
	}
	for _, c := range crowds {
		if err := c.print(to, o.prefix); err != nil {
			return err
		}
	}
	if len(crowds) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(to, "To list all groups: --all. To see some of them: --prefix TEXT. To see one at all its nodes: --group NAME.")
	return err
}

func (c *crowd) print(to io.Writer, prefix string) error {
	var text strings.Builder
	s := c.sum
	which := ""
	if prefix != "" {
		which = fmt.Sprintf(" whose names begin with %q", prefix)
	}
	fmt.Fprintf(&text, "%s at %s has %d groups%s", s.Node, c.address, s.Groups, which)
	if s.Groups > s.Starting {
		fmt.Fprintf(&text, ", in terms %d to %d", s.LowestTerm, s.HighestTerm)
	}
	fmt.Fprintln(&text)
	line := func(what, counts string) {
		if counts != "" {
			fmt.Fprintf(&text, "  %-14s%s\n", what, counts)
		}
	}
	line("it is", counts(s.Roles))
	line("the leader is", counts(s.Leaders))
	line("no leader", unlessZero(s.Leaderless))
	line("not able", counts(s.Unable))
	line("starting", unlessZero(s.Starting))
	if s.Troubled > 0 {
		c.printExamples(&text)
	}
	fmt.Fprintln(&text)
	_, err := io.WriteString(to, text.String())
	return err
}

// printExamples lists groups that need attention.
func (c *crowd) printExamples(text *strings.Builder) {
	fmt.Fprintf(text, "%d groups have no leader, or this node is not able to lead them", c.sum.Troubled)
	if shown := len(c.sum.Examples); shown < c.sum.Troubled {
		fmt.Fprintf(text, "; the first %d", shown)
	}
	fmt.Fprintln(text, ":")
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "GROUP\tROLE\tTERM\tLEADER\tLAST LEADER")
	for _, now := range c.sum.Examples {
		s := shown(c.address, elector.Report{Status: now})
		last := "-"
		if s.LastLeader != "" {
			last = s.LastLeader + ": " + s.Departure
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", s.Group, s.role(), s.Term, cmp.Or(s.Leader, "-"), last)
	}
	_ = w.Flush() // a Builder cannot fail
}

func unlessZero(count int) string {
	if count == 0 {
		return ""
	}
	return fmt.Sprint(count)
}

// counts are "leader 3, follower 6", sorted by name.
func counts[K comparable](of map[K]int) string {
	var all []string
	for what, count := range of {
		all = append(all, fmt.Sprintf("%v %d", what, count))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
