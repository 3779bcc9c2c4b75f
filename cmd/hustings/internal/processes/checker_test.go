package processes_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/cmd/hustings/internal/processes"
	"github.com/hustings/hustings/memberstate"
)

// event returns an event of a process of a node; in lead and lease events the node leads.
func event(kind, of, process string, term memberstate.Term, at, until int64) node.Event {
	e := node.Event{Event: kind, Node: of, Process: process, Term: term, AtNanos: at, UntilNanos: until}
	if kind == "role" {
		e.Leader = of
	}
	return e
}

func following(of, process string, term memberstate.Term, leader string) node.Event {
	e := event("role", of, process, term, 0, 0)
	e.Leader = leader
	return e
}

func TestTheCheckerFindsEveryViolation(t *testing.T) {
	for name, c := range map[string]struct {
		events []node.Event
		says   string
	}{
		"two leaders of a term":      {[]node.Event{event("lead", "n0", "a", 1, 0, 0), event("lead", "n1", "b", 1, 0, 0)}, "term 1 was led by n0"},
		"two incarnations of one":    {[]node.Event{event("role", "n0", "a", 1, 0, 0), event("role", "n0", "b", 1, 0, 0)}, "process b"},
		"a term falls on a restart":  {[]node.Event{event("role", "n0", "a", 5, 0, 0), event("start", "n0", "b", 4, 0, 0)}, "n0 fell from term 5 to 4"},
		"a term falls":               {[]node.Event{event("role", "n0", "a", 5, 0, 0), event("role", "n0", "a", 4, 0, 0)}, "n0 fell from term 5 to 4"},
		"it follows one that lost":   {[]node.Event{event("lead", "n0", "a", 1, 0, 0), following("n2", "c", 1, "n1")}, "n2 follows n1 in term 1, which n0 led"},
		"two leases":                 {[]node.Event{event("lease", "n0", "a", 1, 0, 100), event("lease", "n1", "b", 2, 99, 200)}, "held a lease"},
		"two leases, the older grew": {[]node.Event{event("lease", "n0", "a", 1, 0, 10), event("lease", "n1", "b", 2, 99, 200), event("lease", "n0", "a", 1, 20, 100)}, "held a lease"},
	} {
		var checker processes.Checker
		for _, e := range c.events {
			checker.Add(e)
		}
		if assert.NotEmpty(t, checker.Problems(), name) {
			assert.Contains(t, checker.Problems()[0], c.says, name)
		}
		assert.Equal(t, len(c.events), checker.Events())
	}
}

func TestTheCheckerFindsNothingInACorrectHistory(t *testing.T) {
	var c processes.Checker
	for _, e := range []node.Event{
		event("start", "n0", "a", 0, 0, 0),
		event("role", "n0", "a", 1, 1, 0), event("lead", "n0", "a", 1, 2, 0),
		event("lease", "n0", "a", 1, 3, 100), event("lease", "n0", "a", 1, 50, 150),
		following("n1", "b", 1, "n0"),
		event("lease", "n1", "b", 2, 70, 170),  // read before
		event("handover", "n0", "a", 1, 60, 0), // the handover that made it possible
		event("lease", "n0", "a", 1, 61, 160),  // said late
		event("start", "n0", "c", 1, 80, 0),    // back, in the term it was in
		event("lease", "n0", "c", 3, 171, 300), // after the other's has run out
		event("role", "n1", "b", 2, 75, 0),
		event("lead", "n2", "d", 4, 310, 0),
		event("role", "n2", "d", 3, 305, 0), // said late
	} {
		c.Add(e)
	}
	assert.Empty(t, c.Problems())
}
