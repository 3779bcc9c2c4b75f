// Handovers: each ends in time, whatever happens to the target, and the member that takes over has
// all entries that the leader had.
//
// A handover is under way if an order is open, writes are paused, or the leader asks others to take
// over. What the member itself reports does not count, nor what its messages say about the end of
// the leader's ledger.

package check

import (
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// handoverWithin is how long a handover may take, in detection times: it has three
// phases of one each, counted in beats, and the clock or the node may be slow.
const handoverWithin = 8

// handing is what is known of the handovers of a member. Times are true time.
type handing struct {
	orders    []*Outcome       // those that may be open
	ordered   int64            // since when one is open
	pausing   bool             // its engine was asked to pause its writes, and not to resume them
	paused    int64            // since when
	asked     int64            // since when it asks others to take over, without a longer break
	firstIn   memberstate.Term // the term in which it last asked whether somebody could take over, ...
	first     memberstate.Seat // ... and whom first
	last      uint32           // its newest beat when it last asked
	lastAt    int64            // and when
	resigning memberstate.Term // the term in which it was told to resign; 0: it was not
	resigned  int64            // and when
	held      int64            // when something made a handover last longer, while its node was protected
	orderedIn memberstate.Term // the term in which it was last given an order
	named     memberstate.Set  // the members that orders have named, and the term in which they did
	namedIn   memberstate.Term
	// preferredIn is the last term in which it has let a preferred member take over.
	preferredIn memberstate.Term
	hungIn      memberstate.Term // the last term in which something of the member hung
	drainsIn    memberstate.Term // the last term in which its node was draining
	ailedIn     memberstate.Term // the last term in which it was told not to lead, or its engine was not well
	word        uint32           // the number of the newest request to take over
	ends        [4]word          // of the newest requests
}

// word is a request to take over, and where the leader's ledger ended then.
type word struct {
	number uint32
	end    memberstate.Position
}

// StoodStill has all times begin now: the process was not able to do what is expected of it.
func (c *Checker) StoodStill(n *Member) {
	n.handing.delayed(*c.now)
	n.asking.awake = *c.now
}

func (h *handing) delayed(now int64) {
	h.ordered, h.paused, h.asked, h.resigned, h.held = now, now, now, now, now
}

// Ordered notes an order to hand over or to resign.
func (c *Checker) Ordered(n *Member, order *Outcome, to memberstate.Seat) {
	h, now := &n.handing, *c.now
	if term := n.Group.State().Term; h.namedIn != term {
		h.named, h.namedIn = 0, term
	}
	if to != memberstate.Nobody {
		h.named = h.named.With(to)
	}
	if h.orders = slices.DeleteFunc(h.orders, (*Outcome).isSettled); len(h.orders) == 0 {
		h.ordered = now
	}
	h.orders, h.asked, h.orderedIn = append(h.orders, order), now, n.Group.State().Term
}

// Drains notes that a member's node was ordered to drain: it asks anew whoever could not take over before.
func (c *Checker) Drains(n *Member) { n.handing.asked = *c.now }

// Pauses notes that the engine was asked to pause its writes, and Resumes that it may go on.
func (c *Checker) Pauses(n *Member) { n.handing.pausing, n.handing.paused = true, *c.now }

// Gap is how long a group was without a leader that its engine served, before a term began: since a member of it was last asked to
// pause its writes.
func (c *Checker) Gap(n *Member, term memberstate.Term) int64 {
	return c.of(n).terms.of(term).ledAt - n.handing.paused
}

// Resumes is the opposite of Pauses.
func (c *Checker) Resumes(n *Member) { n.handing.pausing = false }

// Outcome is what has become of an order.
type Outcome struct {
	Settled bool
	Problem string // why it could not be carried out; empty: it was
}

// Settle notes how the order has ended.
func (o *Outcome) Settle(err error) {
	o.Settled = true
	if err != nil {
		o.Problem = err.Error()
	}
}

func (o *Outcome) isSettled() bool { return o.Settled }

func (o *Outcome) String() string {
	switch {
	case !o.Settled:
		return "it is open"
	case o.Problem != "":
		return "it has failed: " + o.Problem
	default:
		return "it is done"
	}
}

// handsOver looks at a member after a turn of its node.
func (c *Checker) handsOver(n *Member) {
	h, now := &n.handing, *c.now
	if c.hangs(n) {
		h.hungIn = n.Group.State().Term
	}
	if n.Node.Leaving {
		h.drainsIn = n.Group.State().Term
	}
	if n.Engine.Barred || n.Engine.Unwell {
		h.ailedIn = n.Group.State().Term
	}
	if len(h.orders) == 0 && !h.pausing && h.resigning == 0 {
		return
	}
	if n.Node.Sluggish > 0 || n.Engine.Slow > 0 || n.Engine.Hangs || n.Node.Hung || n.Node.Stuck {
		h.delayed(now)
	}
	if n.Shown.Leader == memberstate.Nobody { // a transfer cannot end before there is a leader
		h.ordered = now
	}
	c.Counts[invariant.TransferEnds]++
	limit := handoverWithin * int64(c.Detection())
	if h.orders = slices.DeleteFunc(h.orders, (*Outcome).isSettled); len(h.orders) > 0 && now-h.ordered > limit {
		c.Violated(invariant.TransferEnds, n, "an order to hand over has had no outcome since %d ns", now-h.ordered)
	}
	if h.pausing && now-h.paused > limit && n.Leads() { // another leader's writes are not paused
		c.Violated(invariant.TransferEnds, n, "its engine's writes have been paused for a handover since %d ns", now-h.paused)
	}
	if h.resigning != n.Group.State().Term || !n.Leads() {
		h.resigning = 0
	} else if now-h.resigned > limit {
		c.Violated(invariant.TransferEnds, n, "it was ordered to resign, but still leads term %d", n.Group.State().Term)
	}
}

// resigns notes that a leader was told to resign. It must, whatever the others do.
func (c *Checker) resigns(n *Member) {
	if h := &n.handing; n.Leads() && h.resigning != n.Group.State().Term {
		h.resigning, h.resigned = n.Group.State().Term, *c.now
	}
}

// offers checks a request to take over. Between two handovers that nobody ordered, a leader waits for
// more beats than may be missed. Balance may order one after the other.
func (c *Checker) offers(n *Member, m *protocol.Message) {
	c.Counts[invariant.TransferEnds]++
	c.offersToServing(n, m)
	c.offersUnprotected(n, m)
	c.keepsPace(n, m)
	h, now, end := &n.handing, *c.now, n.Engine.Ledger.End()
	if h.firstIn != m.Term {
		h.firstIn, h.first = m.Term, m.Leader
	} else if h.first != m.Leader {
		c.PassedOn++
	}
	b := &n.asking.beats
	rested := n.asking.beats.credits != (credits{}) && now-h.lastAt >= int64(c.Timing.Leak)*int64(n.Rules.Timing.Heartbeat)
	if h.last < b.first || b.number-h.last > uint32(c.Timing.Leak) || rested || n.Node.Balances || n.Node.Sluggish > 0 || n.Engine.Slow > 0 || n.Engine.Hangs || n.Node.Stuck {
		h.asked = now
	}
	if h.last, h.lastAt = b.number, now; now-h.asked > handoverWithin*int64(c.Detection()) {
		c.Violated(invariant.TransferEnds, n, "it has been asking others to take over since %d ns", now-h.asked)
	}
	if m.Mark == rpc.Plain && n.Rules.Preferred.Has(m.Leader) {
		h.preferredIn = m.Term
	}
	// A process that has stood still does not know yet what has returned meanwhile.
	hung := c.hung(n, m.Term) || n.asking.awake > 0 && now-n.asking.awake <= int64(c.Detection())
	if hung && m.Ledger == (memberstate.Position{}) { // it cannot wait for its engine
		end = m.Ledger
	} else if behind(end, m.Ledger) || m.Mark == rpc.Plain && m.Ledger != end {
		c.Violated(invariant.TransferEnds, n, "it requires an heir's ledger to reach %v, but its own ends at %v", m.Ledger, end)
	}
	if m.Mark == rpc.Plain && !n.Engine.Stopped && !hung {
		c.Violated(invariant.TransferEnds, n, "it lets another member take over in term %d before its engine has paused its writes", m.Term)
	}
	h.word++
	h.ends[h.word%4] = word{h.word, end}
}

// takes checks a member that stands for election at its leader's request: its ledger must reach as
// far as the leader's did. The request must be of this leader and this term.
func (c *Checker) takes(n *Member, x *protocol.Step) {
	q, asks := &x.Input.Message, &x.Output.Send
	if x.Input.Kind != protocol.Receive || q.Kind != rpc.TakeLeadership || x.Output.To == 0 || asks.Mark != rpc.Handed {
		return
	}
	c.Counts[invariant.TransferEnds]++
	if n.Shown.Leader != q.From || n.Shown.Term != q.Term {
		c.Violated(invariant.TransferEnds, n, "it takes over from n%d in term %d although it follows n%d in term %d", q.From-1, q.Term, n.Shown.Leader-1, n.Shown.Term)
	}
	if n.ability.says != protocol.Able {
		c.Violated(invariant.TransferEnds, n, "it takes over, and says that it is not able to lead (%v)", n.ability.says)
	}
	heard, end := n.asking.heard, n.Engine.Ledger.End()
	leader := c.of(n).members[heard.from].handing.ends[heard.round%4]
	if leader.number == heard.round && behind(end, leader.end) {
		c.Violated(invariant.TransferEnds, n, "it takes over with a ledger up to %v, but the leader's ended at %v", end, leader.end)
	}
}
