// A step: what it may change, what it must tell, and that nobody waits for nothing.

package simulation

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func (c *checker) step(n *member, before *memberstate.State, x *protocol.Step) {
	c.counts[LegalStep]++
	m, out := &n.group.Machine, &x.Output
	lost := before.Role == memberstate.Leader && (m.Role != memberstate.Leader || m.Term != before.Term)
	if lost {
		c.loses(n, before.Term)
	}
	switch {
	case out.Err != nil:
		c.violated(LegalStep, n, "%v", out.Err)
	case m.HardState != before.HardState && !out.Save:
		c.violated(LegalStep, n, "its hard state changed and is not saved")
	case out.Lost != lost:
		c.violated(LegalStep, n, "Lost is %t from %v to %v", out.Lost, before.Role, m.Role)
	case !out.Changed && m.State != *before && (m.Role != before.Role || m.Term != before.Term || m.Leader != before.Leader || m.Vote != before.Vote):
		c.violated(LegalStep, n, "it changed and does not say so")
	case m.Role == memberstate.Leader && (m.Vote != n.seat || m.Leader != n.seat):
		c.violated(LegalStep, n, "it leads and did not vote for itself")
	case m.Role == memberstate.Follower && (m.Leader == memberstate.Nobody || m.Leader == n.seat):
		c.violated(LegalStep, n, "it follows nobody")
	}
	if x.Input.Kind == protocol.Ring && x.Input.Number != n.armed && *m != n.stale {
		c.violated(LegalStep, n, "it obeys an alarm that it has replaced")
	}
	if x.Output.To != 0 && x.Output.Send.Kind == rpc.VoteRequest && before.Role != memberstate.Leader && n.engine.running != 0 {
		c.violated(OneOffice, n, "it asks for votes, and its engine has not returned from serving term %d", n.engine.running)
	}
	c.counts[NeverStuck]++
	if x.Input.Kind == protocol.Ring && x.Input.Number == n.number && out.Alarm.Number == 0 && m.Role != memberstate.Observer {
		c.violated(NeverStuck, n, "its alarm rang and no other is set")
	}
}
