// The causes of a violation: of all the moments before it, those that mattered.

package trace

import (
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// MarkCauses marks the moments that led to the violation, if there is one: the violation itself,
// what caused it, and at each node on the way the last moments before it that changed the node's
// state. Moments that changed nothing are left out, as most heartbeats are, and so are moments
// in a term more than one below that of the violation.
func (t *Trace) MarkCauses() {
	if t.Violation == nil || len(t.Moments) == 0 {
		return
	}
	p := causes{trace: t, changed: changes(t)}
	from := len(t.Moments) - 1
	p.term = t.Moments[from].State.Term
	p.visit(from)
	for node := range t.Nodes { // every node that was in that term had a part in it
		p.visitLast(node, from)
	}
}

type causes struct {
	trace   *Trace
	changed [][]int // by node: the moments that changed its state
	term    memberstate.Term
}

// visit marks a moment and its causes.
func (p *causes) visit(i int) {
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
func (p *causes) visitLast(node, before int) {
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
