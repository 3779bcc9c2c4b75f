// This file lists the moments that matter, for readers without a drawing.

package picture

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/trace"
)

// storyLength bounds the list; moments around the window that matters are kept.
const storyLength = 80

// story is the list of moments.
type story struct {
	Lines []line
	Left  int // the number of lines left out
}

// line is a moment in the list.
type line struct {
	Moment int
	At     string
	Node   int
	What   string
	Class  string
}

// tell lists the important moments. If there are many, it lists those around the window.
func tell(t *trace.Trace, w window) story {
	var lines []line
	near := 0 // the first line at or after the window's beginning
	roles := make([]trace.NodeState, t.Nodes)
	for i := range t.Moments {
		m := &t.Moments[i]
		if m.Node < 0 || m.Node >= t.Nodes {
			continue
		}
		before := roles[m.Node]
		roles[m.Node] = m.State
		class := importance(m, &before)
		if class == "" {
			continue
		}
		if m.At < w.from {
			near = len(lines)
		}
		lines = append(lines, line{i, stamp(m.At), m.Node, m.What + turned(m, &before), class})
	}
	first := max(0, min(near-storyLength/8, len(lines)-storyLength))
	shown := lines[first:min(len(lines), first+storyLength)]
	return story{shown, len(lines) - len(shown)}
}

// importance is the class of an important moment; empty for any other moment.
func importance(m *trace.Moment, before *trace.NodeState) string {
	switch {
	case m.Kind == trace.Violated:
		return "violated"
	case m.Kind == trace.Crashed:
		return "crashed"
	case m.Kind == trace.Started, m.Kind == trace.PauseBegan, m.Kind == trace.PauseEnded, m.Kind == trace.Struck:
		return "fault"
	case m.State.Role != before.Role && m.State.Role == memberstate.Leader:
		return "leader"
	case m.State.Role != before.Role || m.State.Asking != before.Asking && m.State.Asking != "":
		return "changed"
	case m.Past:
		return "past"
	}
	return ""
}

// turned names the node's new role or request, if that has changed.
func turned(m *trace.Moment, before *trace.NodeState) string {
	switch {
	case m.Kind == trace.Violated || !m.State.Up:
		return ""
	case m.State.Role != before.Role:
		return fmt.Sprintf(": %v in term %d", m.State.Role, m.State.Term)
	case m.State.Asking != before.Asking && m.State.Asking != "":
		return fmt.Sprintf(": asks for %ss in term %d", m.State.Asking, m.State.Term)
	}
	return ""
}

// stamp is a time for a list, with a fixed number of digits.
func stamp(d time.Duration) string { return fmt.Sprintf("%.4f s", d.Seconds()) }
