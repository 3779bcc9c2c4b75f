// This file divides the life of each node into spans of one role.

package picture

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/trace"
)

// span is a time in which these fields of a node did not change.
type span struct {
	from, to   time.Duration
	up, paused bool
	role       memberstate.Role
	term       memberstate.Term
	asking     string
}

func (s *span) leads() bool { return s.up && s.role == memberstate.Leader }

// class is the span's class in the style sheet.
func (s *span) class() string {
	switch {
	case !s.up:
		return "down"
	case s.paused:
		return s.role.String() + " paused"
	default:
		return s.role.String()
	}
}

func (s *span) title(node int) string {
	what := fmt.Sprintf("%v in term %d", s.role, s.term)
	switch {
	case !s.up:
		what = "down"
	case s.paused:
		what += ", paused"
	case s.asking != "":
		what += ", asks for " + s.asking + "s"
	}
	return fmt.Sprintf("n%d: %s, %s to %s", node, what, seconds(s.from), seconds(s.to))
}

// spans lists the spans of every node in order of time.
func spans(t *trace.Trace) [][]span {
	lanes := make([][]span, t.Nodes)
	for i := range t.Moments {
		m := &t.Moments[i]
		if m.Node < 0 || m.Node >= t.Nodes {
			continue
		}
		s := &m.State
		now := span{m.At, t.End, s.Up, s.Paused, s.Role, s.Term, s.Asking}
		if before := len(lanes[m.Node]) - 1; before >= 0 {
			last := &lanes[m.Node][before]
			now.from, now.to = last.from, last.to
			if now == *last {
				continue
			}
			now.from, last.to = m.At, m.At
		}
		lanes[m.Node] = append(lanes[m.Node], now)
	}
	return lanes
}
