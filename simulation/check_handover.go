// Handovers: each ends in time, whatever becomes of the other, and whoever takes over has
// what the leader had.

package simulation

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// handoverWithin is how long a handover may take, in detection times: it has three
// phases of one each, counted in beats by a clock that may be slow, at a node that may.
const handoverWithin = 8

// leaves looks at a leader that was told to resign: it does, whatever the others do.
func (c *checker) leaves(n *member) {
	if n.resigning == 0 || n.resigning != n.group.Term || !n.leads() {
		n.resigning = 0
		return
	}
	if n.sluggish > 0 || n.engine.slow > 0 {
		n.resigned = c.world.now
	}
	c.counts[TransferEnds]++
	if limit := handoverWithin * int64(n.rules().Timing.Detection()); c.world.now-n.resigned > limit {
		c.violated(TransferEnds, n, "it was told to resign, and leads on in term %d", n.group.Term)
	}
}

// takes looks at a member that stands in place of its leader: its ledger has got to where
// the leader's ended. What was said long ago, or by another, is not obeyed.
func (c *checker) takes(n *member, before *memberstate.State, x *protocol.Step) {
	q, asks := &x.Input.Message, &x.Output.Send
	if x.Input.Kind != protocol.Receive || q.Kind != rpc.TakeLeadership || x.Output.To == 0 || asks.Mark != rpc.Handed {
		return
	}
	c.counts[TransferEnds]++
	if before.Leader != q.From || before.Term != q.Term {
		c.violated(TransferEnds, n, "it takes over from n%d in term %d, and follows n%d in term %d", q.From-1, q.Term, before.Leader-1, before.Term)
	}
	if end := n.engine.ledger.end(); end.Compare(q.Ledger) < 0 {
		c.violated(TransferEnds, n, "it takes over with a ledger up to %v, and the leader's ends at %v", end, q.Ledger)
	}
}

func (c *checker) handsOver(n *member, phase protocol.HandoverPhase) {
	c.leaves(n)
	if phase == protocol.NoHandover {
		n.handing = 0
		return
	}
	c.counts[TransferEnds]++
	now := c.world.now
	if n.handing == 0 || n.sluggish > 0 || n.engine.slow > 0 {
		n.handing = now
	}
	if limit := handoverWithin * int64(n.rules().Timing.Detection()); now-n.handing > limit {
		c.violated(TransferEnds, n, "its handover is %v, since %d ns", phase, now-n.handing)
	}
}
