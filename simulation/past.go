// What led to a violation: of all that happened before, that which mattered.

package simulation

import (
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// markPast marks what led to the violation, if there is one: the moment itself, what
// caused it, and at each node on the way the last moments before it that changed who
// the node is. What did not change anything, most heartbeats, is left out; and so is
// what was over more than one term before.
func markPast(t *Trace) {
	v := t.Result.Violation
	if v == nil || len(t.Moments) == 0 {
		return
	}
	p := past{trace: t, changed: changes(t)}
	from := len(t.Moments) - 1
	p.term = t.Moments[from].State.Term
	p.visit(from)
	for node := range t.Nodes { // who else was in that term had a part in it
		p.visitLast(node, from)
	}
}

type past struct {
	trace   *Trace
	changed [][]int // by node: the moments that changed who it is
	term    memberstate.Term
}

// visit marks a moment, and what led to it.
func (p *past) visit(i int) {
	for i >= 0 && !p.trace.Moments[i].Past {
		m := &p.trace.Moments[i]
		if m.State.Term+1 < p.term {
			return
		}
		m.Past = true
		p.visitLast(m.Node, i)
		i = m.Cause
	}
}

// visitLast visits the last moment of a node, before another moment, that changed it.
func (p *past) visitLast(node, before int) {
	all := p.changed[node]
	if at, _ := slices.BinarySearch(all, before); at > 0 {
		p.visit(all[at-1])
	}
}

// changes lists, by node, the moments that changed its hard state, role or leader.
func changes(t *Trace) [][]int {
	all := make([][]int, t.Nodes)
	last := make([]NodeState, t.Nodes)
	for i := range t.Moments {
		m := &t.Moments[i]
		before, now := &last[m.Node], &m.State
		if before.Term != now.Term || before.Vote != now.Vote || before.Role != now.Role || before.Leader != now.Leader ||
			before.Up != now.Up || before.Incarnation != now.Incarnation || m.Kind == Struck || m.Kind == Violated {
			all[m.Node] = append(all[m.Node], i)
		}
		*before = *now
	}
	return all
}
