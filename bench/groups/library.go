// The compared libraries, and how many groups each can have.

package groups

import (
	"context"
	"errors"
	"strings"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

const (
	hashicorp  = "hashicorp/raft 1.8"
	dragonboat = "dragonboat 4"
)

// The numbers of groups that the peers are measured with. 100,000 of both versions of etcd/raft would take too
// long. hashicorp/raft has goroutines for each group, and dragonboat queues,
// of 1.6 MB a member, so that 10,000 groups would need 48 GB.
const (
	mostBoth       = 10_000
	withHashicorp  = 1000
	withDragonboat = 100
)

// libraryOf is the name under which the figures of a library are shown, without the version of etcd/raft,
// of which the better one counts.
func libraryOf(row string) string {
	if strings.HasPrefix(row, "etcd/raft ") {
		return "etcd/raft"
	}
	return row
}

// libraries are those of the rows, except ours.
func libraries(rows []measure.Row[Cost]) (all []string) {
	for _, r := range rows[1:] {
		if l := libraryOf(r.Name); len(all) == 0 || all[len(all)-1] != l {
			all = append(all, l)
		}
	}
	return all
}

// compared are the names of the rows for a number of groups, ours first. Only a long run has more than etcd/raft.
func compared(p figure.Plan, groups int) []string {
	names := []string{"", etcd.Newer}
	if groups <= mostBoth {
		names = append(names, etcd.Older)
	}
	if groups == withHashicorp && p.Long {
		names = append(names, hashicorp)
	}
	if groups == withDragonboat && p.Long {
		names = append(names, dragonboat)
	}
	return names
}

// rowsOf returns the compared libraries, each with its name and how it is measured.
func rowsOf(ctx context.Context, older, bubble *peer.Program, p figure.Plan, t Task) (rows []measure.Row[Cost]) {
	for _, library := range compared(p, t.Groups) {
		row := measure.Row[Cost]{Name: library}
		switch library {
		case "":
			row.Measure = func() (Cost, error) { return Ours(ctx, t) }
		case etcd.Newer:
			row.Measure = func() (Cost, error) { return Etcd(ctx, t) }
		case hashicorp:
			row.Measure = func() (Cost, error) { return CostOf(ctx, t, hashicorpOf) }
		case etcd.Older:
			row.Measure = elsewhere(ctx, older, t)
		case dragonboat:
			row.Measure = elsewhere(ctx, bubble, t)
		}
		rows = append(rows, row)
	}
	return rows
}

// elsewhere measures with another program, which runs for as long as that takes.
func elsewhere(ctx context.Context, program *peer.Program, t Task) func() (Cost, error) {
	return func() (Cost, error) {
		child, err := program.Start(ctx)
		if err != nil {
			return Cost{}, err
		}
		c, err := peer.Do[Cost](child, Name, t)
		return c, errors.Join(err, child.Close())
	}
}
