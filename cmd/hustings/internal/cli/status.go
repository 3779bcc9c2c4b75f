// The state of nodes: a table with one line for each member of a group.

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
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

func printTable(to io.Writer, all []shownStatus) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "GROUP\tNODE\tADDRESS\tROLE\tTERM\tLEADER\tLEASE\tLEDGER END\tQUORUM\tLAST LEADER")
	for i := range all {
		fmt.Fprintln(w, strings.Join(all[i].row(), "\t"))
	}
	return w.Flush()
}

func newStatus() *cobra.Command {
	var o operation
	cmd := o.command("status", "Show the state of a group's nodes", `  hustings status -a 10.0.0.1:7000 --tls ~/.hustings --as alice`, 3*time.Second, o.status)
	cmd.Long = `Show the state of a group's nodes. One address is enough, because that node knows the
others. A node with several groups shows only its own part in each of them, unless
--group names one.

LEDGER END is the term and the index of the last entry that the engine has reported.
QUORUM is, for a leader, the time since it sent the newest heartbeat that a quorum has
answered. LAST LEADER is the previous leader, and why the node considers it gone.

The command fails if one of the nodes that --address names does not answer.`
	return cmd
}

func (o *operation) status(ctx context.Context, cmd *cobra.Command, _ []string) error {
	files, err := o.files()
	if err != nil {
		return err
	}
	found, others := o.ask(ctx, o.addresses, files)
	silent := 0
	for i := range found {
		if found[i].Error != "" {
			silent++
		}
	}
	more, _ := o.ask(ctx, others.addresses(), files)
	for i := range more {
		if more[i].Error != "" {
			more[i].Node, more[i].Group = others[more[i].Address].node, others[more[i].Address].group
		}
	}
	found = oneEach(append(found, more...))
	if o.asJSON {
		for i := range found {
			if err := found[i].print(cmd.OutOrStdout(), true); err != nil {
				return err
			}
		}
	} else if err := printTable(cmd.OutOrStdout(), found); err != nil {
		return err
	}
	if silent > 0 {
		return fmt.Errorf("%d of %d nodes did not answer", silent, len(o.addresses))
	}
	return nil
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

// ask asks nodes, all at once, for their states and for the other members of their groups.
func (o *operation) ask(ctx context.Context, addresses []string, files *grpcrpc.TLS) ([]shownStatus, neighbours) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	answers := make([]struct {
		all    []shownStatus
		others neighbours
	}, len(addresses))
	var asking sync.WaitGroup
	for i, address := range addresses {
		asking.Go(func() {
			all, others, err := o.askOne(ctx, address, files)
			if err != nil {
				all = []shownStatus{{Address: address, Error: strings.TrimPrefix(err.Error(), address+": ")}}
			}
			answers[i].all, answers[i].others = all, others
		})
	}
	asking.Wait()
	var list []shownStatus
	others := neighbours{}
	for _, a := range answers {
		list = append(list, a.all...)
		for address, who := range a.others {
			if !slices.Contains(addresses, address) {
				others[address] = who
			}
		}
	}
	return list, others
}

func (o *operation) askOne(ctx context.Context, address string, files *grpcrpc.TLS) (list []shownStatus, others neighbours, err error) {
	c, err := operator.Dial(address, files)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = c.Close() }() // the answer was read, or another error says why not
	all, err := c.Status(ctx, o.group)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		list = append(list, shown(address, s))
	}
	if len(all) != 1 {
		return list, nil, nil
	}
	members, err := c.Members(ctx, all[0].Group)
	if err != nil {
		return nil, nil, err
	}
	others = neighbours{}
	for _, m := range members {
		if m.Address != "" {
			others[m.Address] = struct{ node, group string }{m.ID, all[0].Group}
		}
	}
	return list, others, nil
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
