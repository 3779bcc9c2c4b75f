// A trace as text: a line for each moment.

package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/hustings/hustings/rpc"
)

// Line is a moment as text: when, where, what happened, and the state of the node after it.
func (t *Trace) Line(i int) string {
	m := &t.Moments[i]
	mark := "  "
	if m.Past {
		mark = "* "
	}
	node := fmt.Sprintf("n%d", m.Node)
	if t.Group != "" {
		node += " " + t.Group
	}
	return fmt.Sprintf("%s%12.6fs  %s  %-60s  %v", mark, m.At.Seconds(), node, m.What, &m.State)
}

// String describes the state of the node.
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

// WriteText writes a line for each moment, except for steps that changed nothing but the ledger.
// A star marks the moments that led to the violation.
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

// String describes the message.
func (p *Passage) String() string {
	text := p.Kind.String()
	if p.Mark != rpc.Plain {
		text += " (" + p.Mark.String() + ")"
	}
	if p.Result != 0 {
		text += " " + p.Result.String()
	}
	return fmt.Sprintf("%s in term %d", text, p.Term)
}
