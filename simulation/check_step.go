// A step: what the explorer holds against it, too, and what it takes a world to see.

package simulation

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

func (c *checker) step(n *member, before *memberstate.State, x *protocol.Step) {
	c.counts[invariant.LegalStep]++
	m := &n.group.Machine
	if before.Role == memberstate.Leader && (m.Role != memberstate.Leader || m.Term != before.Term) {
		c.loses(n, before.Term)
	}
	c.counts[invariant.NeverStuck]++
	if wrong := check.Step(n.rules(), before, m, x); wrong != 0 {
		for broken, what := range wrong.All() {
			c.violated(broken, n, "%s, from %+v to %+v", what, *before, m.State)
		}
	}
	if x.Input.Kind == protocol.Ring && x.Input.Number == n.number && x.Output.Dropped == protocol.DropStaleAlarm {
		c.violated(invariant.NeverStuck, n, "it takes its alarm for one that it has replaced")
	}
	if n.early && *m != n.stale {
		c.violated(invariant.LegalStep, n, "it obeys an alarm that it has replaced")
	}
	if x.Output.To != 0 && x.Output.Send.Kind == rpc.VoteRequest && before.Role != memberstate.Leader && n.engine.running != 0 {
		c.violated(invariant.OneOffice, n, "it asks for votes, and its engine has not returned from serving term %d", n.engine.running)
	}
}
