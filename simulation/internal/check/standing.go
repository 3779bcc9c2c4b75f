// Standings: no leader hands over to a node that has said that it does not serve, as long as another voter could take
// over. A node that drains hands over a few groups at a time, and one that is protected nothing of its own accord.

package check

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// standing is what a process has told another one of itself.
type standing struct {
	by, to  uint64 // their incarnations
	serves  bool
	changes uint32
}

// hears takes in what a beat says, if it was sent to the process that is there now, which names itself so.
func (s *standing) hears(b *rpc.Beat, addressee uint64) {
	if b.Of != addressee || addressee == s.to && (b.Incarnation < s.by || b.Incarnation == s.by && b.Standing.Changes < s.changes) {
		return
	}
	*s = standing{b.Incarnation, addressee, b.Standing.State == rpc.Serving, b.Standing.Changes}
}

// told is what the present process of a member's node has told that of another one. What a restarted process has not
// said yet does not count.
func (c *Checker) told(n, other *Member) (serves, known bool) {
	s := other.Node.exchanged.standing[n.Node.Index]
	return s.serves, n.Node.Alive && s.by != 0 && s.by == n.Node.exchanged.own && s.to == other.Node.exchanged.own
}

// leaves says whether a member's node has told that of another one that it does not serve, and that is true still.
func (c *Checker) leaves(n, told *Member) bool {
	serves, known := c.told(n, told)
	return known && !serves && n.Node.Leaving
}

// serves says whether a member's node has told that of another one that it serves.
func (c *Checker) serves(n, told *Member) bool {
	serves, known := c.told(n, told)
	return known && serves
}

// offersToServing checks a question whether a voter could take over, unless an operator has named it. Another one would have been
// better if it has answered the newest heartbeat, or beat if the leader has rested since, and has said that it serves, even if it is not able: that may be over already.
func (c *Checker) offersToServing(n *Member, m *protocol.Message) {
	var heir *Member
	for _, other := range c.of(n).members {
		if other.Node.Seat == m.Leader {
			heir = other
		}
	}
	if heir == nil || m.Mark != rpc.PreVote || n.handing.named.Has(m.Leader) && n.handing.namedIn == m.Term || !c.leaves(heir, n) {
		return
	}
	c.Counts[invariant.NotToTheLeaving]++
	b := &n.asking.beats
	for _, other := range c.of(n).members {
		voter := other.Node.Index
		answered := b.rounds[b.number%keptBeats].answered.has(voter) && (b.newest >= b.credits.heard || b.credits.voters[voter].counted >= b.credits.heard)
		if other == n || other == heir || !answered || !c.serves(other, n) || !c.votes(other.Node.Index) {
			continue
		}
		c.Violated(invariant.NotToTheLeaving, n, "it offers term %d to n%d, which has said that it does not serve, although n%d does", m.Term, heir.Node.Index, other.Node.Index)
	}
}

// offersUnprotected checks a question whether a voter could take over, which a member asks while its node is protected. Handovers
// that it had begun before have ended after a while. It may do what it was ordered to, and has to hand over if it cannot work.
func (c *Checker) offersUnprotected(n *Member, m *protocol.Message) {
	h, since := &n.handing, n.Node.Protected
	if since == 0 || m.Mark != rpc.PreVote || h.orderedIn == m.Term || h.resigning == m.Term || c.ailed(n, m.Term) {
		return
	}
	if n.Node.Sluggish > 0 || n.Engine.Slow > 0 || n.Engine.Hangs || n.Node.Stuck {
		h.held = *c.now
	}
	c.Counts[invariant.HoldsStill]++
	if begun := *c.now - max(since, h.held); begun > handoverWithin*int64(c.Detection()) {
		c.Violated(invariant.HoldsStill, n, "it offers term %d to n%d, although its node has been protected since %d ns", m.Term, m.Leader-1, begun)
	}
}

// Paces notes how many groups a node is told to hand over at a time. Handovers of an earlier drain go on.
func (c *Checker) Paces(n *Node, most int) { n.Pace = max(n.Pace, most+c.moving(n)) }

// moving is how many handovers a node has under way that no user has ordered, to whoever can take over.
func (c *Checker) moving(n *Node) (moving int) {
	for place := range c.groups {
		m := c.at(n, place)
		s := m.Group.Peek()
		if h := s.Handover(); m.Leads() && !m.Shown.Stopped && h.Phase != protocol.NoHandover && h.Reason == protocol.ToAnyone && m.handing.orderedIn != s.Term && m.handing.resigning != s.Term {
			moving++
		}
	}
	return moving
}

// keepsPace checks the number of handovers when one more begins because a node drains.
func (c *Checker) keepsPace(n *Member, m *protocol.Message) {
	if !n.Node.Leaving || m.Mark != rpc.PreVote {
		return
	}
	c.Counts[invariant.PaceHolds]++
	if moving := c.moving(n.Node); moving > n.Node.Pace {
		c.Violated(invariant.PaceHolds, n, "its node hands over %d groups, and may hand over %d at a time", moving, n.Node.Pace)
	}
}
