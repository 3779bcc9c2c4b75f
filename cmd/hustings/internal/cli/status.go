// The state of nodes: a table with one line for each member of a group.

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// shownStatus is a status as it is printed.
type shownStatus struct {
	Address     string `json:"address"`
	Node        string `json:"node,omitempty"`
	Group       string `json:"group,omitempty"`
	Role        string `json:"role,omitempty"`
	Term        uint64 `json:"term,omitempty"`
	Leader      string `json:"leader,omitempty"`
	Vote        string `json:"vote,omitempty"`
	Revision    uint64 `json:"revision,omitempty"`
	LastLeader  string `json:"last_leader,omitempty"`
	Departure   string `json:"departure,omitempty"` // of the last leader
	Lease       int64  `json:"lease_left_nanos,omitempty"`
	LedgerTerm  uint64 `json:"ledger_term,omitempty"`
	LedgerIndex uint64 `json:"ledger_index,omitempty"`
	QuorumAge   int64  `json:"quorum_age_nanos,omitempty"` // of a leader
	Inability   string `json:"inability,omitempty"`        // why it is not able to lead
	Unable      int64  `json:"unable_nanos,omitempty"`     // and for how long it has not been
	Preferred   bool   `json:"preferred,omitempty"`        // it should lead whenever it can
	LastChoice  bool   `json:"last_choice,omitempty"`      // it leads only if no other voter can
	Error       string `json:"error,omitempty"`
}

func shown(address string, s elector.Report) shownStatus {
	status := shownStatus{
		Address: address, Node: s.Self, Group: s.Group, Role: s.Role.String(), Term: uint64(s.Term),
		Leader: s.Leader, Vote: s.Vote, Revision: s.Revision, LastLeader: s.LastLeader, Departure: s.Departure.String(),
		Lease: int64(s.Lease), LedgerTerm: uint64(s.Ledger.Term), LedgerIndex: s.Ledger.Index, QuorumAge: int64(s.QuorumAge),
		Preferred: s.Preferred, LastChoice: s.LastChoice,
	}
	if s.Inability != protocol.Able {
		status.Inability, status.Unable = s.Inability.String(), int64(s.Unable)
	}
	return status
}

func (s *shownStatus) leads() bool { return s.Node != "" && s.Leader == s.Node }

// print writes one status without a table.
func (s *shownStatus) print(to io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(to).Encode(s)
	}
	leader := "no leader"
	if s.Leader != "" {
		leader = "leader " + s.Leader
	}
	if s.LastLeader != "" {
		leader += fmt.Sprintf(" (last %s: %s)", s.LastLeader, s.Departure)
	}
	_, err := fmt.Fprintf(to, "%-22s %-12s %-12s %-10s term %-6d %s\n", s.Address, s.Group, s.Node, s.role(), s.Term, leader)
	return err
}

// role is the member's role, with "preferred" if it should lead whenever it can, and the reason why it is
// not able to lead, if it is not. How long that has been so is known only if it was measured.
func (s *shownStatus) role() string {
	role := s.Role
	if s.Preferred {
		role = "preferred " + role
	}
	switch {
	case s.Inability == "":
		return role
	case s.Unable == 0:
		return fmt.Sprintf("%s (not able: %s)", role, s.Inability)
	}
	return fmt.Sprintf("%s (not able: %s, %v)", role, s.Inability, time.Duration(s.Unable).Round(100*time.Millisecond))
}

// row returns the columns of a table, with a dash for each missing value.
func (s *shownStatus) row() []string {
	const none = "-"
	if s.Error != "" { // in a column of its own, because a row with fewer columns would shift those below it
		return []string{cmp.Or(s.Group, none), cmp.Or(s.Node, none), s.Address, none, none, none, none, none, none, none, s.Error}
	}
	lease, quorum, last := none, none, none
	if s.Lease > 0 {
		lease = time.Duration(s.Lease).Round(time.Millisecond).String()
	}
	if s.leads() {
		quorum = time.Duration(s.QuorumAge).Round(time.Millisecond).String() + " ago"
	}
	if s.LastLeader != "" {
		last = s.LastLeader + ": " + s.Departure
	}
	role := s.role()
	if s.Revision == 0 {
		role = "starting"
	}
	return []string{
		s.Group, s.Node, s.Address, role, fmt.Sprint(s.Term), cmp.Or(s.Leader, none), lease,
		fmt.Sprintf("%d/%d", s.LedgerTerm, s.LedgerIndex), quorum, last,
	}
}

// printLines writes each status as a line of JSON.
func printLines(to io.Writer, all []shownStatus) error {
	for i := range all {
		if err := all[i].print(to, true); err != nil {
			return err
		}
	}
	return nil
}

func printTable(to io.Writer, all []shownStatus) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "GROUP\tNODE\tADDRESS\tROLE\tTERM\tLEADER\tLEASE\tLEDGER END\tQUORUM\tLAST LEADER")
	for i := range all {
		fmt.Fprintln(w, strings.Join(all[i].row(), "\t"))
	}
	return w.Flush()
}

func newStatus() *cobra.Command {
	var o statusFlags
	cmd := o.command("status", "Show the state of a group's nodes", `  hustings status -a 10.0.0.1:7000 --tls ~/.hustings --as alice
  hustings status -a 10.0.0.1:7000 --prefix orders-`, 3*time.Second, o.status)
	cmd.Long = fmt.Sprintf(`Show the state of a group's nodes. One address is enough, because that node knows the
others. A node with several groups shows only its own part in each of them, unless
--group names one. If it has more than %d, it counts them, and shows some of those that
need attention: groups without a leader, and groups in which the node is not able to lead.

LEDGER END is the term and the index of the last entry that the engine has reported.
QUORUM is, for a leader, the time since it sent the newest heartbeat that a quorum has
answered. LAST LEADER is the previous leader, and why the node considers it gone.

--json prints all groups, however many there are.

The command fails if one of the nodes that --address names does not answer.`, mostListed)
	cmd.Flags().BoolVar(&o.all, "all", false, "list all groups, however many there are")
	cmd.Flags().StringVar(&o.prefix, "prefix", "", "only the groups whose names begin with this `text`")
	return cmd
}

// statusFlags are the flags of status.
type statusFlags struct {
	operation
	all bool
}

func (o *statusFlags) status(ctx context.Context, cmd *cobra.Command, _ []string) error {
	if o.group != "" && (o.all || o.prefix != "") {
		return usageError{errors.New("--group names one group, so it does not go with --all or --prefix")}
	}
	files, err := o.files()
	if err != nil {
		return err
	}
	first := o.ask(ctx, o.addresses, files)
	silent := first.silent()
	more := o.ask(ctx, first.others.addresses(), files).list
	for i := range more {
		if more[i].Error != "" {
			more[i].Node, more[i].Group = first.others[more[i].Address].node, first.others[more[i].Address].group
		}
	}
	unheard, err := o.show(ctx, cmd.OutOrStdout(), oneEach(append(first.list, more...)), first.crowds, files)
	if err != nil {
		return err
	}
	silent += unheard
	if silent > 0 {
		return fmt.Errorf("%d of %d nodes did not answer", silent, len(o.addresses))
	}
	return nil
}

// show prints the groups that are few, and all of the others or their counts. It returns how many nodes no longer
// answered.
func (o *statusFlags) show(ctx context.Context, to io.Writer, few []shownStatus, crowds []crowd, files *grpcrpc.TLS) (silent int, err error) {
	switch {
	case o.asJSON:
		if err := printLines(to, few); err != nil {
			return 0, err
		}
		return o.stream(ctx, crowds, files, func(s *shownStatus) error { return s.print(to, true) })
	case o.all:
		silent, _ = o.stream(ctx, crowds, files, func(s *shownStatus) error { // which never fails
			few = append(few, *s)
			return nil
		})
		return silent, printTable(to, oneEach(few))
	default:
		return 0, o.print(to, few, crowds)
	}
}

// neighbours are the other members of the groups of nodes, by address.
type neighbours map[string]struct{ node, group string }

func (n neighbours) addresses() (all []string) {
	for address := range n {
		all = append(all, address)
	}
	slices.Sort(all)
	return all
}

// answers are the states of nodes, and the other members of their groups.
type answers struct {
	list   []shownStatus
	others neighbours
	crowds []crowd // the nodes that have more groups than are listed
}

// silent is how many nodes did not answer.
func (a *answers) silent() (count int) {
	for i := range a.list {
		if a.list[i].Error != "" {
			count++
		}
	}
	return count
}

// ask asks nodes, all at once, for their states and for the other members of their groups.
func (o *operation) ask(ctx context.Context, addresses []string, files *grpcrpc.TLS) answers {
	sum := answers{others: neighbours{}}
	for _, one := range askEach(ctx, o, addresses, files, o.askOne) {
		a := &one.now
		if one.err != nil {
			a = &answers{list: []shownStatus{unanswered(one.address, one.err)}}
		}
		sum.list, sum.crowds = append(sum.list, a.list...), append(sum.crowds, a.crowds...)
		for address, who := range a.others {
			if !slices.Contains(addresses, address) {
				sum.others[address] = who
			}
		}
	}
	return sum
}

// unanswered is shown of a node that did not answer.
func unanswered(address string, err error) shownStatus {
	return shownStatus{Address: address, Error: strings.TrimPrefix(err.Error(), address+": ")}
}

func (o *operation) askOne(ctx context.Context, c *operator.Client) (a answers, err error) {
	all, many, err := o.few(ctx, c)
	if err != nil {
		return a, err
	}
	if many != nil {
		a.crowds = []crowd{{c.Address(), many}}
		return a, nil
	}
	for _, s := range all {
		a.list = append(a.list, shown(c.Address(), s))
	}
	if len(all) != 1 {
		return a, nil
	}
	members, err := c.Members(ctx, all[0].Group)
	if err != nil {
		return a, err
	}
	a.others = neighbours{}
	for _, m := range members {
		if m.Address != "" {
			a.others[m.Address] = struct{ node, group string }{m.ID, all[0].Group}
		}
	}
	return a, nil
}

// few returns the states of the groups that were asked for, or their summary if they are many.
func (o *operation) few(ctx context.Context, c *operator.Client) (all []elector.Report, many *operator.Summary, err error) {
	if o.group != "" {
		all, err = c.Status(ctx, o.group)
		return all, nil, err
	}
	sum, err := c.Summary(ctx, o.prefix, mostExamples)
	if err != nil {
		return nil, nil, err
	}
	if sum.Groups > mostListed {
		return nil, sum, nil
	}
	for r, err := range c.Statuses(ctx, o.prefix) {
		if err != nil {
			return nil, nil, err
		}
		all = append(all, r)
	}
	return all, nil, nil
}

// oneEach drops duplicates, which come from asking a node at two addresses: the one that
// the operator gave, and the one that its peers use. The first answer stays, unless it is
// an error.
func oneEach(all []shownStatus) (list []shownStatus) {
	slices.SortStableFunc(all, func(a, b shownStatus) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Node, b.Node))
	})
	at := map[[2]string]int{}
	for _, s := range all {
		key := [2]string{s.Group, s.Node}
		before, seen := at[key]
		switch {
		case !seen || s.Node == "":
			at[key] = len(list)
			list = append(list, s)
		case list[before].Error != "":
			list[before] = s
		}
	}
	return list
}
