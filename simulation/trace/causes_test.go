package trace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

// The causes of a violation are what led to it step by step, and the changes of state that the
// nodes on the way stood on. What changed nothing is none, nor what is two terms past.
func TestCausesLeadToTheViolation(t *testing.T) {
	at := func(node int, term memberstate.Term, role memberstate.Role, cause int) trace.Moment {
		return trace.Moment{Node: node, Cause: cause, State: trace.NodeState{Up: true, Term: term, Role: role}}
	}
	run := trace.Trace{Nodes: 2, Violation: &invariant.Violation{}, Moments: []trace.Moment{
		at(0, 3, memberstate.Candidate, -1), // two terms before
		at(1, 4, memberstate.Candidate, -1),
		at(1, 4, memberstate.Candidate, -1), // changes nothing
		at(0, 5, memberstate.Candidate, -1),
		at(0, 5, memberstate.Leader, 1),
		at(0, 5, memberstate.Leader, 2), // changes nothing, and is not what the violation comes from
		at(0, 5, memberstate.Leader, -1),
	}}
	last := &run.Moments[len(run.Moments)-1]
	last.Kind = trace.Violated
	run.MarkCauses()
	var causes []int
	for i, m := range run.Moments {
		if m.Past {
			causes = append(causes, i)
		}
	}
	assert.Equal(t, []int{1, 3, 4, 6}, causes)
}

// A run without a violation has no causes of one.
func TestWithoutViolationNothingIsACause(t *testing.T) {
	run := trace.Trace{Nodes: 1, Moments: []trace.Moment{{Kind: trace.Started, Cause: -1}}}
	run.MarkCauses()
	assert.False(t, run.Moments[0].Past)
}
