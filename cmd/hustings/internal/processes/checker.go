// Package processes tests nodes as real processes. It holds a checker of their events.
package processes

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/memberstate"
)

// Checker reads the events of all nodes, in all their incarnations, and finds violations of
// safety. The zero Checker has read nothing.
type Checker struct {
	mu       sync.Mutex
	events   int
	led      map[memberstate.Term]leader
	terms    map[string]memberstate.Term // the largest, by node
	roles    map[string]memberstate.Term // that was shown last, by node
	leases   []lease
	problems []string
}

// leader is one incarnation of a node.
type leader struct{ node, process string }

// lease is a claim of a leader that no other node leads in this interval.
type lease struct {
	leader
	term        memberstate.Term
	from, until int64
	released    bool
}

// Add reads an event. The events of one process must come in order.
func (c *Checker) Add(e node.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.led == nil {
		c.led, c.terms, c.roles = map[memberstate.Term]leader{}, map[string]memberstate.Term{}, map[string]memberstate.Term{}
	}
	c.events++
	who := leader{e.Node, e.Process}
	before := c.terms[e.Node]
	if e.Event == "role" { // another goroutine writes these, so one may be behind the newest lead
		before = c.roles[e.Node]
		c.roles[e.Node] = e.Term
	}
	if e.Term < before && (e.Event == "start" || e.Event == "role") {
		c.fail("%s fell from term %d to %d (%s)", e.Node, before, e.Term, e.Event)
	}
	c.terms[e.Node] = max(c.terms[e.Node], e.Term)
	switch e.Event {
	case "role":
		if e.Leader == e.Node {
			c.lead(e.Term, who)
		} else if before, known := c.led[e.Term]; known && e.Leader != "" && before.node != e.Leader {
			c.fail("%s follows %s in term %d, which %s led", e.Node, e.Leader, e.Term, before.node)
		}
	case "lead":
		c.lead(e.Term, who)
	case "lease":
		c.hold(lease{leader: who, term: e.Term, from: e.AtNanos, until: e.UntilNanos})
	case "handover", "unlead":
		c.release(who, e.Term, e.AtNanos)
	}
}

func (c *Checker) lead(term memberstate.Term, who leader) {
	if before, led := c.led[term]; led && before != who {
		c.fail("term %d was led by %s (process %s) and by %s (process %s)", term, before.node, before.process, who.node, who.process)
	}
	c.led[term] = who
}

// hold notes a lease, or its extension.
func (c *Checker) hold(now lease) {
	for i := range c.leases {
		if old := &c.leases[i]; old.leader == now.leader && old.term == now.term {
			if !old.released {
				old.until = max(old.until, now.until)
			}
			return
		}
	}
	c.leases = append(c.leases, now)
}

// release ends a lease that its holder gave up.
func (c *Checker) release(who leader, term memberstate.Term, at int64) {
	for i := range c.leases {
		if l := &c.leases[i]; l.leader == who && l.term == term && !l.released {
			l.until, l.released = min(l.until, at), true
		}
	}
}

func (c *Checker) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// Problems returns the violations in all events. Leases are compared only here, because the
// release of a lease may be read after the next lease.
func (c *Checker) Problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	problems := slices.Clone(c.problems)
	for i, a := range c.leases {
		for _, b := range c.leases[:i] {
			if a.from < b.until && b.from < a.until {
				problems = append(problems, fmt.Sprintf("%s held a lease in term %d from %d until %d, and %s one in term %d from %d until %d",
					a.node, a.term, a.from, a.until, b.node, b.term, b.from, b.until))
			}
		}
	}
	return problems
}

// Events returns how many events were read.
func (c *Checker) Events() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events
}
