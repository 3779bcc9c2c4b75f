// A trace as text: a line for each moment.

package simulation

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Line is a moment as text: when, where, what happened, and what it has made of the
// node.
func (t *Trace) Line(i int) string {
	m := &t.Moments[i]
	mark := "  "
	if m.Past {
		mark = "* "
	}
	who := fmt.Sprintf("n%d", m.Node)
	if t.Group != "" {
		who += " " + t.Group
	}
	return fmt.Sprintf("%s%12.6fs  %s  %-60s  %v", mark, m.At.Seconds(), who, m.What, &m.State)
}

// String tells what the node is.
func (s *NodeState) String() string {
	if !s.Up {
		return "down"
	}
	parts := []string{fmt.Sprintf("%v in term %d", s.Role, s.Term)}
	if s.Vote >= 0 {
		parts = append(parts, fmt.Sprintf("voted for n%d", s.Vote))
	}
	if s.Leader >= 0 {
		parts = append(parts, fmt.Sprintf("leader n%d", s.Leader))
	}
	if s.Asking != "" {
		parts = append(parts, fmt.Sprintf("%s: %d accept", s.Asking, s.Accepts))
	}
	if s.Saving {
		parts = append(parts, "saving")
	}
	if s.Paused {
		parts = append(parts, "paused")
	}
	parts = append(parts, fmt.Sprintf("ledger %d:%d", s.Ledger.Term, s.Ledger.Index))
	return strings.Join(parts, ", ")
}

// WriteText writes what happened, line by line, without that which changed nothing. A
// star marks what led to the violation.
func (t *Trace) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	last := make([]NodeState, t.Nodes)
	for i := range t.Moments {
		m := &t.Moments[i]
		before, now := last[m.Node], m.State
		last[m.Node] = now
		before.Ledger = now.Ledger
		if before == now && !m.Past && m.Kind == Stepped {
			continue
		}
		if _, err := fmt.Fprintln(out, t.Line(i)); err != nil {
			return err
		}
	}
	return out.Flush()
}
