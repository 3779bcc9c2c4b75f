// Package check judges elections: whether the invariants hold, of which each has its file. It
// sees the facts that the world writes down (facts.go), and knows nothing else of the world.
//
// A check that asks the code under test notices nothing where that code is wrong. So the
// checks keep their own account:
//
//   - who votes, and what a majority is: from the options of the world (measure.go)
//   - how long a detection time and a lease last: from the intervals
//   - who has voted for whom: from what became durable
//   - who answered which round: from numbers that travel beside the messages (round.go)
//   - since when a lease counts: from when the heartbeat left
//   - what is committed: from what reached the ledgers
//   - whether a handover is under way: from open orders, paused writes and messages
//
// What a message says of a term, a vote or a ledger is compared with the disk and
// the engine.
//
// The checks read from a member only what they judge: the role, term, vote and leader that its machine
// has, or shows, and what a step asks for. Besides, they believe production code in three things:
//
//   - The number of an alarm, when a member ignores one as replaced. That it obeys no replaced
//     alarm is checked by the clock: such an alarm rings before the newest one is due.
//   - The rules that a member was given. The world sets them and nothing changes them; the
//     checks read who is preferred and who has pre-votes.
//   - A pre-vote's number, over a restart. A process numbers its rounds from the beginning, so
//     the answer to a pre-vote of the previous process may count. It gives no vote.
//
// Step (step.go) judges a single step of a member. The explorer and the fuzzer of machines share
// it. The explorer's unreduced search and its random walks do not: they are there to find out
// whether the others look at the right things.
package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// Checker checks a run, and remembers what the invariants need of the past.
type Checker struct {
	Measure
	Counts    [invariant.Count]uint64 // how often each invariant was checked
	Violation *invariant.Violation    // the first one
	Over      bool                    // nothing more is to be learnt from this run
	Ambiguous bool                    // which beat an answer is for: messages were corrupted, or beats' numbers begin again
	Broken    [invariant.Count]uint64 // how often each was violated after it had been excused
	PassedOn  int                     // how often a leader that hands over has asked another voter than the first

	// The invariants that are not demanded any more, because something was broken that they
	// rest on.
	excused [invariant.Count]bool
	lawless bool // all are

	now       *int64 // true time, in nanoseconds
	names     []string
	unchecked []invariant.Invariant
	note      func(*invariant.Violation)
	groups    []history
}

// history is what the invariants remember of one group.
type history struct {
	members     []*Member // by index of the node
	terms       terms
	commitments []commitment // by term
	tallies     tallies
}

// New is the checker of a run of some groups. It reads the true time from now, does not demand the
// unchecked invariants, and calls note with the first violation.
func New(m Measure, groups []string, now *int64, unchecked []invariant.Invariant, note func(*invariant.Violation)) Checker {
	return Checker{Measure: m, now: now, names: groups, unchecked: unchecked, note: note, groups: make([]history, len(groups))}
}

// Add makes a member known, in the order of the nodes.
func (c *Checker) Add(n *Member) {
	h := c.of(n)
	h.members = append(h.members, n)
}

// of is the history of a member's group.
func (c *Checker) of(n *Member) *history { return &c.groups[n.Place] }

// Violated notes the first violation; the run ends with it. If the invariant is excused, the
// violation is counted. If all are, the run ends then, too, because what follows means nothing.
func (c *Checker) Violated(i invariant.Invariant, n *Member, format string, args ...any) {
	if len(c.names) > 1 {
		format, args = "in %s "+format, append([]any{c.names[n.Place]}, args...)
	}
	c.ViolatedBy(i, n.Node, n.Place, format, args...)
}

// ViolatedBy is Violated by a process, whichever of its groups that is about.
func (c *Checker) ViolatedBy(i invariant.Invariant, n *Node, place int, format string, args ...any) {
	if c.Over {
		return
	}
	if c.excused[i] || slices.Contains(c.unchecked, i) {
		c.Broken[i]++
		c.Over = c.lawless
		return
	}
	c.Over = true
	c.Violation = &invariant.Violation{Invariant: i, At: time.Duration(*c.now), Node: n.Index, Group: place, What: fmt.Sprintf(format, args...)}
	c.note(c.Violation)
}

// Excuse demands an invariant no more.
func (c *Checker) Excuse(i invariant.Invariant) { c.excused[i] = true }

// Excused says whether an invariant is not demanded any more.
func (c *Checker) Excused(i invariant.Invariant) bool { return c.excused[i] }

// ExcuseAll demands nothing more.
func (c *Checker) ExcuseAll() {
	for i := range invariant.Count {
		c.Excuse(i)
	}
	c.lawless = true
}

// Lawless says whether nothing is demanded any more.
func (c *Checker) Lawless() bool { return c.lawless }

// Started checks a member that begins to take part, with what its disk has. What was only in
// memory is forgotten.
func (c *Checker) Started(n *Member) {
	n.handing, n.ability, n.campaign = handing{word: n.handing.word}, ability{}, campaign{}
	n.asking.restart()
	c.termsRose(n, *n.Durable)
	c.Kept(n, *n.Durable)
}

// Replaced says that the disk of a member was replaced by one that has this. What the member said
// since then is not expected of it any more.
func (n *Member) Replaced(has memberstate.HardState) { n.said = has }

// Stepped checks a step that has been taken, at a time of its node's clock. If it waits for the disk, it has not taken
// effect yet.
func (c *Checker) Stepped(n *Member, before *memberstate.State, x *protocol.Step, local time.Duration) {
	c.step(n, before, x)
	c.follows(n)
	c.takes(n, x)
	c.campaigns(n, before, x, local)
	if x.Output.Ended {
		c.judged(n, &x.Output)
	}
	if x.Input.Kind == protocol.Resign {
		c.resigns(n)
	}
}

// Turned checks a member after a turn of its node.
func (c *Checker) Turned(n *Member) {
	if n.Shown.Stopped {
		return // its handover is over, too
	}
	c.inOffice(n)
	c.handsOver(n)
	if n.Received == *c.now {
		c.admits(n)
	}
}

// Says checks a message that leaves a member, at a time of its node's clock.
func (c *Checker) Says(n *Member, to memberstate.Set, m *protocol.Message, local time.Duration) {
	c.sends(n, to, m)
	switch m.Kind {
	case rpc.Heartbeat:
		c.beats(n, m, local)
	case rpc.VoteRequest:
		c.asks(n, m)
	case rpc.TakeLeadership:
		c.offers(n, m)
	case rpc.HeartbeatResponse:
		n.asking.speaks(to)
	case rpc.VoteResponse:
		n.asking.speaks(to)
		c.votesUnpromised(n, m)
	default: // it belongs to no round
	}
}

// Published checks what has taken effect, at a time of its node's clock. A member that follows has abandoned
// its round; a leader may have one for a larger term.
func (c *Checker) Published(n *Member, v *protocol.View, local time.Duration) {
	c.showsAbility(n, v, local)
	if v.Leader != memberstate.Nobody && v.Role != memberstate.Leader {
		n.asking.vote.over = true
	}
	if v.Role == memberstate.Leader && !v.Stopped {
		c.leads(n, v.Term)
	}
}
