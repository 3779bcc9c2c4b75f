// The state of whole nodes: who serves, who drains, and who is heard by whom.

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

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

func newNodes() *cobra.Command {
	var o operation
	cmd := o.ofNodes("nodes", "Show which nodes serve, drain, or are silent", `  hustings nodes -a 10.0.0.1:7000`, 3*time.Second, o.nodes)
	cmd.Long = `Show which nodes serve, drain, or are silent. One address is enough, because that node
knows the others with which it shares groups; each is then asked for its own word.

STATE is "serving" if the node takes its share of leading, "draining" or "drained" after
"hustings drain", and "starting" until its engine is ready. REMARKS say how far a drain is,
and whether it lasts "also after a restart", see "hustings drain --keep". INCARNATION names its process, for
--incarnation of other commands. LEADS is how many of its GROUPS it leads, and
what they weigh if the engine says that some are more work to lead than others. A capacity among the REMARKS is how
much the node should lead, in hundredths of a usual one. HEARD is how
long ago another node last heard it; nodes that only follow have nothing to say to each
other. If a node does not answer, what others know of it is shown.

The command fails if one of the nodes that --address names does not answer.`
	return cmd
}

// nodeRow is what is known of a node, as it is printed with --json.
type nodeRow struct {
	Node        string `json:"node,omitempty"`
	Address     string `json:"address"`
	State       string `json:"state,omitempty"`  // the node's own word; if it does not answer, the newest that another one has heard
	Groups      *int   `json:"groups,omitempty"` // nil: it has not answered
	Led         *int   `json:"led,omitempty"`
	Weight      int    `json:"weight,omitempty"`   // of what it leads; 0: as usual, that is their number
	Capacity    int    `json:"capacity,omitempty"` // in hundredths of a usual node; 0: as usual
	Incarnation uint64 `json:"incarnation,omitempty"`
	Protected   bool   `json:"protected,omitempty"` // it hands over nothing of its own accord
	Kept        bool   `json:"kept,omitempty"`      // it is drained also after it is started again
	// Progress is how far its drain has come; nil if it does not drain.
	Progress *jsonProgress `json:"drain,omitempty"`
	HeardBy  []heardBy     `json:"heard_by,omitempty"`
	Error    string        `json:"error,omitempty"` // it has not answered
}

// heardBy is what one node knows of another.
type heardBy struct {
	Node    string `json:"node"`
	State   string `json:"state,omitempty"`         // that the other has told it
	Silence *int64 `json:"silence_nanos,omitempty"` // how long ago it heard the other; nil: never
	Lost    bool   `json:"lost,omitempty"`          // the other's process is gone, as far as it can tell
	Follow  int    `json:"follow,omitempty"`        // groups that follow a leader at the other
	Lead    int    `json:"lead,omitempty"`          // groups led here that have followers at the other
	// What the other leads weighs so much, and so much is its capacity; 0: as usual, or it has not said.
	Weight   int `json:"weight,omitempty"`
	Capacity int `json:"capacity,omitempty"`
}

// unusual is a value that is not the usual one; 0: it is.
func unusual(value, usual int) int {
	if value == usual {
		return 0
	}
	return value
}

func (o *operation) nodes(ctx context.Context, cmd *cobra.Command, _ []string) error {
	files, err := o.files()
	if err != nil {
		return err
	}
	all := o.askNodes(ctx, o.addresses, files)
	silent := 0
	for i := range all {
		if all[i].err != nil {
			silent++
		}
	}
	all = append(all, o.askNodes(ctx, unasked(all), files)...)
	if err := printNodes(cmd.OutOrStdout(), nodeRows(all), o.asJSON); err != nil {
		return err
	}
	if silent > 0 {
		return fmt.Errorf("%d of %d nodes did not answer", silent, len(o.addresses))
	}
	return nil
}

// nodeAnswer is what a node says of itself and of others.
type nodeAnswer = answer[operator.Nodes]

func (o *operation) askNodes(ctx context.Context, addresses []string, files *grpcrpc.TLS) []nodeAnswer {
	return askEach(ctx, o, addresses, files, func(ctx context.Context, c *operator.Client) (operator.Nodes, error) { return c.Nodes(ctx) })
}

// unasked are the addresses of nodes that others know, and that have not been asked.
func unasked(answers []nodeAnswer) (addresses []string) {
	for _, a := range answers {
		for i := range a.now.Peers {
			p := &a.now.Peers[i]
			asked := slices.ContainsFunc(answers, func(other nodeAnswer) bool { return other.address == p.Address || other.now.Self == p.ID })
			if !asked && p.Address != "" && !slices.Contains(addresses, p.Address) {
				addresses = append(addresses, p.Address)
			}
		}
	}
	slices.Sort(addresses)
	return addresses
}

// nodeRows are what is known of each node: its own word, and what others have heard. A node is shown once, also if it was
// asked at two addresses.
func nodeRows(answers []nodeAnswer) (rows []*nodeRow) {
	byID := make(map[string]*nodeRow)
	row := func(id, address string) *nodeRow {
		if byID[id] == nil {
			byID[id] = &nodeRow{Node: id, Address: address}
			rows = append(rows, byID[id])
		}
		return byID[id]
	}
	var words []*nodeAnswer
	for i := range answers {
		if a := &answers[i]; a.err == nil && byID[a.now.Self] == nil {
			row(a.now.Self, a.address).answered(a)
			words = append(words, a)
		}
	}
	for _, a := range words {
		for i := range a.now.Peers {
			p := &a.now.Peers[i]
			row(p.ID, p.Address).isHeard(a.now.Self, p)
		}
	}
	for i := range answers {
		if a := &answers[i]; a.err != nil {
			at := slices.IndexFunc(rows, func(r *nodeRow) bool { return r.Address == a.address })
			if at < 0 {
				at, rows = len(rows), append(rows, &nodeRow{Address: a.address})
			}
			rows[at].Error = strings.TrimPrefix(a.err.Error(), a.address+": ")
		}
	}
	slices.SortFunc(rows, func(a, b *nodeRow) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Address, b.Address))
	})
	return rows
}

// answered notes a node's own word.
func (r *nodeRow) answered(a *nodeAnswer) {
	p := &a.now.Progress
	r.State, r.Groups, r.Led, r.Incarnation, r.Protected = p.Standing.State.String(), &a.now.Groups, &p.Led, a.now.Incarnation, p.Protected
	r.Kept, r.Weight, r.Capacity = p.Kept, unusual(p.Weight, p.Led), unusual(p.Capacity, protocol.UsualCapacity)
	if p.Standing.State == rpc.Draining || p.Standing.State == rpc.Drained {
		shown := shownProgress("", p)
		r.Progress = &shown
	}
}

// isHeard notes what another node knows of this one.
func (r *nodeRow) isHeard(by string, p *operator.Peer) {
	h := heardBy{Node: by, Lost: p.Lost, Follow: p.Follow, Lead: p.Lead, Weight: unusual(p.Weight, p.Led), Capacity: unusual(p.Capacity, protocol.UsualCapacity)}
	if p.Known {
		h.State = p.Standing.State.String()
	}
	if p.Heard {
		silence := int64(p.Silence)
		h.Silence = &silence
	}
	r.HeardBy = append(r.HeardBy, h)
}

// newest is what the node knows that has heard this one last; nil if none has.
func (r *nodeRow) newest() (newest *heardBy) {
	for i := range r.HeardBy {
		if h := &r.HeardBy[i]; h.Silence != nil && (newest == nil || *h.Silence < *newest.Silence) {
			newest = h
		}
	}
	return newest
}

func printNodes(to io.Writer, rows []*nodeRow, asJSON bool) error {
	for _, r := range rows {
		if h := r.newest(); r.Groups == nil && h != nil {
			r.State = h.State
		}
	}
	if asJSON {
		var problems []error
		for _, r := range rows {
			problems = append(problems, json.NewEncoder(to).Encode(r))
		}
		return errors.Join(problems...)
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tADDRESS\tSTATE\tGROUPS\tLEADS\tINCARNATION\tHEARD\tREMARKS")
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r.columns(), "\t"))
	}
	return w.Flush()
}

// columns are those of the table, with a dash for each missing value.
func (r *nodeRow) columns() []string {
	const none = "-"
	heard := none
	if h := r.newest(); h != nil {
		heard = fmt.Sprintf("%v ago by %s", time.Duration(*h.Silence).Round(time.Millisecond), h.Node)
	}
	if r.Groups == nil {
		return []string{cmp.Or(r.Node, none), cmp.Or(r.Address, none), cmp.Or(r.State, none), none, none, none, heard, cmp.Or(r.Error, "its address is not known")}
	}
	led := thousands(*r.Led)
	if r.Weight > 0 {
		led += fmt.Sprintf(" (weight %s)", thousands(r.Weight))
	}
	var remarks []string
	if r.Capacity > 0 {
		remarks = append(remarks, fmt.Sprintf("capacity %d", r.Capacity))
	}
	if r.Protected {
		remarks = append(remarks, "protected")
	}
	if r.Progress != nil {
		remarks = append(remarks, r.Progress.text())
	}
	if r.Kept {
		remarks = append(remarks, r.keptText())
	}
	return []string{r.Node, r.Address, r.State, thousands(*r.Groups), led, fmt.Sprint(r.Incarnation), heard, strings.Join(remarks, ", ")}
}

// keptText is what it means now that a node is kept drained over restarts.
func (r *nodeRow) keptText() string {
	switch r.State {
	case rpc.Serving.String():
		return "drained after a restart"
	case rpc.Starting.String():
		return "drained once its engine is ready"
	}
	return "also after a restart"
}

// text is "drained 7 of 10, 3 stuck".
func (p *jsonProgress) text() string {
	text := fmt.Sprintf("drained %s of %s", thousands(p.Moved), thousands(p.Moved+p.Led))
	if stuck := p.Led - p.Waiting - p.Moving; stuck > 0 {
		text += fmt.Sprintf(", %s stuck", thousands(stuck))
	}
	return text
}
