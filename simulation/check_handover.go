// Handovers: each ends in time, whatever becomes of the other, and whoever takes over has
// what the leader had.
//
// That a handover is on the world knows by what comes of it: an order is open, writes are
// paused, others are asked to take over. What the member says of itself does not count, and
// its leader's word for where a ledger ends neither.

package simulation

import (
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// handoverWithin is how long a handover may take, in detection times: it has three
// phases of one each, counted in beats by a clock that may be slow, at a node that may.
const handoverWithin = 8

// handing is what is known of the handovers of a member. Times are true ones.
type handing struct {
	orders    []*outcome       // that may be open
	ordered   int64            // since when one is
	pausing   bool             // its engine was told to pause its writes, and not to go on
	paused    int64            // since when
	asked     int64            // since when it asks others to take over, time and again
	last      uint32           // its newest beat when it last did
	resigning memberstate.Term // that it was told to resign
	resigned  int64            // and when
	word      uint32           // the newest word to take over
	ends      [4]word          // and some of the newest
}

// word is a leader's to take over, and where its ledger ended then.
type word struct {
	number uint32
	end    memberstate.Position
}

// delayed has all times begin now: the process was not able to do what is awaited of it.
func (h *handing) delayed(now int64) { h.ordered, h.paused, h.asked, h.resigned = now, now, now, now }

// given notes an order.
func (h *handing) given(order *outcome, now int64) {
	if h.orders = slices.DeleteFunc(h.orders, (*outcome).isSettled); len(h.orders) == 0 {
		h.ordered = now
	}
	h.orders, h.asked = append(h.orders, order), now
}

func (o *outcome) isSettled() bool { return o.settled }

// handsOver looks at a member after a turn of its node.
func (c *checker) handsOver(n *member) {
	h, now := &n.handing, c.world.now
	if len(h.orders) == 0 && !h.pausing && h.resigning == 0 {
		return
	}
	if n.sluggish > 0 || n.engine.slow > 0 || n.hung {
		h.delayed(now)
	}
	if n.shown.Leader == memberstate.Nobody { // a transfer has no outcome before somebody leads
		h.ordered = now
	}
	c.counts[invariant.TransferEnds]++
	limit := handoverWithin * int64(c.world.options.detection())
	if h.orders = slices.DeleteFunc(h.orders, (*outcome).isSettled); len(h.orders) > 0 && now-h.ordered > limit {
		c.violated(invariant.TransferEnds, n, "an order to hand over has no outcome since %d ns", now-h.ordered)
	}
	if h.pausing && now-h.paused > limit {
		c.violated(invariant.TransferEnds, n, "its engine's writes are paused for a handover since %d ns", now-h.paused)
	}
	if h.resigning != n.group.Term || !n.leads() {
		h.resigning = 0
	} else if now-h.resigned > limit {
		c.violated(invariant.TransferEnds, n, "it was told to resign, and leads on in term %d", n.group.Term)
	}
}

// resigns notes that a leader was told to: it does, whatever the others do.
func (c *checker) resigns(n *member) {
	if h := &n.handing; n.leads() && h.resigning != n.group.Term {
		h.resigning, h.resigned = n.group.Term, c.world.now
	}
}

// offers looks at what a leader says to whoever is to take over. Its handovers are apart by
// more beats than may be missed, unless somebody orders one.
func (c *checker) offers(n *member, m *protocol.Message) {
	c.counts[invariant.TransferEnds]++
	h, o, now, end := &n.handing, &c.world.options, c.world.now, n.engine.ledger.End()
	b := &n.asking.beats
	if h.last < b.first || b.number-h.last > uint32(o.Timing.Leak) || n.sluggish > 0 || n.engine.slow > 0 {
		h.asked = now
	}
	if h.last = b.number; now-h.asked > handoverWithin*int64(o.detection()) {
		c.violated(invariant.TransferEnds, n, "it asks others to take over since %d ns", now-h.asked)
	}
	if behind(end, m.Ledger) || m.Mark == rpc.Plain && m.Ledger != end {
		c.violated(invariant.TransferEnds, n, "it wants a ledger up to %v of whoever takes over, and its own ends at %v", m.Ledger, end)
	}
	h.word++
	h.ends[h.word%4] = word{h.word, end}
}

// takes looks at a member that stands in place of its leader: its ledger has got to where
// the leader's ended. What was said long ago, or by another, is not obeyed.
func (c *checker) takes(n *member, x *protocol.Step) {
	q, asks := &x.Input.Message, &x.Output.Send
	if x.Input.Kind != protocol.Receive || q.Kind != rpc.TakeLeadership || x.Output.To == 0 || asks.Mark != rpc.Handed {
		return
	}
	c.counts[invariant.TransferEnds]++
	if n.shown.Leader != q.From || n.shown.Term != q.Term {
		c.violated(invariant.TransferEnds, n, "it takes over from n%d in term %d, and follows n%d in term %d", q.From-1, q.Term, n.shown.Leader-1, n.shown.Term)
	}
	heard, end := n.asking.heard, n.engine.ledger.End()
	leader := c.world.nodes[heard.from].members[n.place].handing.ends[heard.round%4]
	if leader.number == heard.round && behind(end, leader.end) {
		c.violated(invariant.TransferEnds, n, "it takes over with a ledger up to %v, and the leader's ended at %v", end, leader.end)
	}
}
