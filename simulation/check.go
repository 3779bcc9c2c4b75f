// What must hold after every event. Each invariant has its file; here is what they
// share.

package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// checker remembers what the invariants need of the past.
type checker struct {
	world     *world
	counts    [invariant.Count]uint64
	violation *invariant.Violation
	over      bool // nothing more is to be learnt from this run

	// What was broken that the invariants rest on: those are not demanded any more.
	// Where somebody could tell, and has, the fault is in tellers.
	excused [invariant.Count]bool
	lawless bool                    // all are
	broken  [invariant.Count]uint64 // how often one was, and was excused
	tellers FaultSet

	groups []history
}

// history is what the invariants remember of one group.
type history struct {
	terms       terms
	commitments []commitment // by term
	tallies     tallies
}

func (c *checker) init(w *world) {
	c.world, c.groups = w, make([]history, w.options.Groups)
}

// of is the history of a member's group.
func (c *checker) of(n *member) *history { return &c.groups[n.place] }

// violated notes the first violation; the run ends with it. One that is excused is
// counted; if all are the run ends, too, for what follows means nothing.
func (c *checker) violated(i invariant.Invariant, n *member, format string, args ...any) {
	if len(c.world.groups) > 1 {
		format, args = "in %s "+format, append([]any{c.world.groups[n.place]}, args...)
	}
	c.violatedBy(i, n.node, n.place, format, args...)
}

// violatedBy is violated by a process, whichever of its groups that is about.
func (c *checker) violatedBy(i invariant.Invariant, n *node, place int, format string, args ...any) {
	if c.over {
		return
	}
	if c.excused[i] || slices.Contains(c.world.options.Unchecked, i) {
		c.broken[i]++
		c.over = c.lawless
		return
	}
	c.over = true
	c.violation = &invariant.Violation{Invariant: i, At: time.Duration(c.world.now), Node: n.index, Group: place, What: fmt.Sprintf(format, args...)}
	c.world.tracer.violated(c.violation)
}

// excuse demands an invariant no more.
func (c *checker) excuse(i invariant.Invariant) { c.excused[i] = true }

// excuseSafety demands nothing more.
func (c *checker) excuseSafety() {
	for i := range invariant.Count {
		c.excuse(i)
	}
	c.lawless = true
}

// told notes that a fault was detected, and refused.
func (c *checker) told(f Fault) { c.tellers |= 1 << f }

// started checks an incarnation that begins.
func (c *checker) started(n *member) {
	c.termsRose(n, n.durable())
	c.kept(n, n.durable())
}

// stepped checks a step that has been taken; if it waits for the disk it has not
// taken effect yet.
func (c *checker) stepped(n *member, before *memberstate.State, x *protocol.Step) {
	c.step(n, before, x)
	c.follows(n)
	c.takes(n, x)
	if x.Output.Ended {
		c.judged(n, &x.Output)
	}
	if x.Input.Kind == protocol.Resign {
		c.resigns(n)
	}
}

// turned checks a member after a turn of its node.
func (c *checker) turned(n *member) {
	if n.shown.Stopped {
		return // its handover is over, too
	}
	c.inOffice(n)
	c.handsOver(n)
}

// published checks what has taken effect.
func (c *checker) published(n *member, v *protocol.View) {
	if v.Leader != memberstate.Nobody {
		n.asking.vote.over = true
	}
	if v.Role == memberstate.Leader && !v.Stopped {
		c.leads(n, v.Term)
	}
}
