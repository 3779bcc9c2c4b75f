// This file sums up a run in one sentence and some figures.

package picture

import (
	"fmt"
	"strings"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

func sentence(t *trace.Trace) string {
	v := t.Violation
	if v == nil {
		return fmt.Sprintf("No violation: %s in %s.", plural(t.Elections, "election"), seconds(length(t)))
	}
	return fmt.Sprintf("%s: “%v” violated at %s.", accusation(t, v), v.Invariant, seconds(v.At))
}

// accusation says which node violated the invariant and how, as exactly as the trace allows.
func accusation(t *trace.Trace, v *invariant.Violation) string {
	if v.Lost != nil {
		return "E" + strings.TrimPrefix(v.Lost.String(), "e")
	}
	switch v.Invariant {
	case invariant.OneLeader:
		if said := twoLeaders(t, v); said != "" {
			return said
		}
	case invariant.OneLease:
		if said := twoLeases(t, v); said != "" {
			return said
		}
	default:
	}
	if what, itself := strings.CutPrefix(v.What, "it "); itself {
		return fmt.Sprintf("n%d %s", v.Node, what)
	}
	return fmt.Sprintf("n%d: %s", v.Node, v.What)
}

// twoLeaders finds the other node that led the term, and whether it still did.
func twoLeaders(t *trace.Trace, v *invariant.Violation) string {
	term, found := termOf(t, v)
	if !found {
		return ""
	}
	other, still := -1, false
	for i := range t.Moments {
		m := &t.Moments[i]
		if m.At > v.At || m.Node == v.Node {
			continue
		}
		leads := m.State.Up && m.State.Role == memberstate.Leader && m.State.Term == term
		switch {
		case leads:
			other, still = m.Node, true
		case m.Node == other:
			still = false
		}
	}
	switch {
	case other < 0:
		return ""
	case still:
		return fmt.Sprintf("n%d led term %d while n%d led it", v.Node, term, other)
	default:
		return fmt.Sprintf("n%d led term %d, which n%d had led before", v.Node, term, other)
	}
}

// termOf is the term of the violating node at the time of the violation.
func termOf(t *trace.Trace, v *invariant.Violation) (term memberstate.Term, found bool) {
	for i := range t.Moments {
		if m := &t.Moments[i]; m.Node == v.Node && m.At <= v.At {
			term, found = m.State.Term, true
		}
	}
	return term, found
}

// twoLeases finds the two leases that were held at the time of the violation.
func twoLeases(t *trace.Trace, v *invariant.Violation) string {
	var own, other *trace.Band
	for i := range t.Bands {
		b := &t.Bands[i]
		if b.Kind != trace.LeaseBand || b.From > v.At || b.To < v.At {
			continue
		}
		if b.Node == v.Node {
			own = b
		} else {
			other = b
		}
	}
	if own == nil || other == nil {
		return ""
	}
	return fmt.Sprintf("n%d held a lease in term %d while n%d held one in term %d", own.Node, own.Term, other.Node, other.Term)
}

// fact is a figure that stands below the sentence.
type fact struct{ Name, Value string }

func facts(t *trace.Trace) []fact {
	all := []fact{
		{"nodes", fmt.Sprint(t.Nodes)},
		{"elections", grouped(t.Elections)},
		{"length", seconds(length(t))},
		{"moments", grouped(uint64(len(t.Moments)))},
		{"messages", grouped(uint64(len(t.Passages)))},
	}
	if n := observers(t); n > 0 {
		all[0].Value += fmt.Sprintf(", %s", plural(uint64(n), "observer"))
	}
	if t.Group != "" {
		all = append(all, fact{"group", t.Group})
	}
	if t.Violation == nil && t.Converged > 0 {
		all = append(all, fact{"converged in", seconds(t.Converged)})
	}
	return all
}

// observers counts the nodes that have no vote.
func observers(t *trace.Trace) int { return t.Nodes - t.Voters }

// length is how long the run took.
func length(t *trace.Trace) time.Duration { return max(t.End, t.Virtual) }

// seconds is a time for people: in milliseconds below a second, in hundredths from there.
func seconds(d time.Duration) string {
	text := fmt.Sprintf("%.3f", d.Seconds())
	if d >= time.Second {
		text = fmt.Sprintf("%.2f", d.Seconds())
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " s"
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return grouped(n) + " " + what + "s"
}

// grouped is a number with thin spaces between thousands.
func grouped(n uint64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}
