// The muster: how many campaigns of one node are under way at a time (D17).
//
// When a node dies, all groups that it led miss their leader at once. If all of their members stood at that
// moment, each round of votes would wait for all others, and end before its answers are handled. Everybody
// would ask again, and nobody would be elected. So a node begins only so many campaigns at a time. The
// others wait in the order in which their alarms rang. Groups in which it is another member's turn rang
// later, so they wait behind those in which it is this one's, and most of them never stand: the other
// member asks for their votes meanwhile.
//
// A campaign keeps its place until a quorum has heard the new leader, or another leader is known, but no longer than a
// detection time. A candidate that is not elected then waits for a random time, and asks again without waiting in the
// queue: in the same queues at two nodes the same candidates would meet again and again, and only the random time
// separates them. It may do so for about as long as it takes to ask twice, and then waits in the queue again. It keeps
// its place meanwhile. So the next campaign begins when an earlier one has been answered. If answers take long because
// nodes or the network have too much to do, they get no more to do until they have answered. And the number of places
// follows from how long answers to pre-votes take, so that they come before their rounds end.
//
// A campaign that cannot succeed would only keep others waiting: if others have a leader, or if no quorum is there. So
// it gives its place away when its round is over.
//
// A node that does not hear another one is refused by those that do: they have a leader. Its candidates ask in vain
// for as long as that lasts, which may be hours. So those that are refused after all that wait in another queue, from
// which one of all groups asks at a time, and no sooner than a heartbeat after the one before. If that one is not
// refused, something has changed, and all may ask. A group in which another voter asks waits there no more: that voter
// has no leader either.
//
// To the machine, a campaign that waits is an alarm that rings late, as on a busy computer. So the muster
// decides nothing that safety depends on.

package protocol

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// muster is the campaigns of a node that wait, and those that are under way.
type muster struct {
	most    int           // that are under way at a time, by now
	limit   int           // of most
	open    int           // that are
	slowed  time.Duration // when most was lowered last
	begun   campaigns
	waiting campaigns
	vain    campaigns     // in which others have a leader
	next    time.Duration // when the next one of vain may begin
}

// campaign is a campaign of a group.
type campaign struct {
	group *Group
	alarm uint32        // that rang for it, ...
	due   time.Duration // ... and when that was due. If another one is set meanwhile, it is off
	until time.Duration // once it is under way, how long it keeps others waiting at most. Its engine may hang
}

// A node has so many campaigns under way at a time: at first, at least, and at most. The first number keeps a node busy,
// and is handled well before its rounds end. The last one does so where answers take long because they travel far.
const usualCampaigns, fewestCampaigns, mostCampaigns = 256, 64, 1024

// LimitCampaigns bounds the campaigns that the node has under way at a time. Without it, the bound suits real
// nodes.
func (n *Node) LimitCampaigns(most int) { n.muster.most, n.muster.limit = most, most }

// pace takes in how long the answer to a pre-vote took. While answers come soon, more campaigns may be under way. If one
// comes so late that rounds may end before their answers, fewer may be. The answer may be one to a round that is over.
// Nodes that are gone give none, and so change nothing.
func (m *muster) pace(now, took, timeout time.Duration) {
	switch {
	case took < timeout/4 && m.waiting.waits():
		m.most = min(m.most+1, m.limit)
	case took > timeout/2 && now >= m.slowed+timeout: // those under way have not made room yet
		m.most, m.slowed = max(m.most/2, min(fewestCampaigns, m.limit)), now
	}
}

// queues says whether a campaign begins when the group's alarm rings, and so waits in the queue. An alarm within a round
// goes on with it.
func (n *Node) queues(g *Group) bool {
	x := g.transient()
	return g.begins() && (x == nil || n.now >= x.repeats)
}

// queue has a campaign wait whose group's alarm has rung, unless another one has been set since.
func (n *Node) queue(g *Group, alarm uint32) {
	m, x := &n.muster, g.transient()
	c := campaign{group: g, alarm: alarm, due: g.due}
	switch {
	case alarm != g.alarm:
	case x == nil || x.repeats == 0: // it has not asked yet
		m.waiting.add(c)
	case g.round.hasLeader:
		x.vain = g.due
		m.vain.add(c)
	default:
		m.askedWell(x)
		m.waiting.add(c)
	}
}

// queuesAgain has a campaign wait for another place, if it has lost its place while the group's engine or disk kept it
// from beginning. Otherwise all groups that a disk has held up would begin theirs at once when it goes on. One that asks
// in vain has no place, and needs none.
func (n *Node) queuesAgain(g *Group, alarm uint32) bool {
	m, x := &n.muster, g.transient()
	if alarm != g.alarm || !g.begins() || n.now < x.place || x.vain == g.due {
		return false
	}
	m.end(x)
	x.repeats = 0 // it has not asked
	m.waiting.add(campaign{group: g, alarm: alarm, due: g.due})
	n.tidy(g)
	return true
}

// askedWell has all ask if one that has asked in vain before was not refused this time.
func (m *muster) askedWell(x *transient) {
	if x.vain != 0 {
		m.waiting.all = append(m.waiting.all, m.vain.all[m.vain.first:]...)
		m.vain = campaigns{}
	}
}

// rival notes that another voter asks for votes.
func (n *Node) rival(g *Group) {
	if x := g.transient(); x != nil && x.vain != 0 && x.vain == g.due {
		x.vain = 0
		n.muster.waiting.add(campaign{group: g, alarm: g.alarm, due: g.due})
	}
}

// begins says whether a round begins when the alarm rings.
func (m *Machine) begins() bool { return m.Role == memberstate.Candidate && m.round.phase == idle }

// campaign begins the campaigns that wait, as many as there is room for.
func (n *Node) campaign() {
	m := &n.muster
	if !m.begun.waits() && !m.waiting.waits() && !m.vain.waits() {
		return // as in most turns
	}
	m.begun.drop(func(c *campaign) bool {
		switch x := c.group.transient(); {
		case x == nil || x.place != c.until: // it is over, and the group may have begun another one
			return true
		case n.now >= c.until:
			m.end(x)
			n.tidy(c.group)
			return true
		}
		return false
	})
	n.askInVain()
	m.waiting.drop(func(c *campaign) bool {
		switch g := c.group; {
		case c.off():
			return true
		case m.open >= m.most:
			return false
		default:
			x := n.transientOf(g)
			if x.place == 0 {
				m.open++
			}
			c.until = n.now + g.Rules.Timing.Detection()
			x.place = c.until
			x.repeats = c.until + g.Rules.Timing.MaxVoteWait
			m.begun.add(*c)
			n.give(g, &Input{Kind: Ring, Number: c.alarm}, purpose{})
			return true
		}
	})
}

// off says whether the group follows a leader meanwhile, has voted for another, or has begun its campaign.
func (c *campaign) off() bool {
	return !c.group.running || c.group.desk == nil || c.group.due != c.due
}

// askInVain begins the campaign of a group in which others have a leader, when it is time for another one.
func (n *Node) askInVain() {
	m := &n.muster
	m.vain.drop(func(c *campaign) bool {
		switch {
		case c.off():
			return true
		case n.now < m.next:
			return false
		default:
			m.next = n.now + c.group.Rules.Timing.Heartbeat
			n.give(c.group, &Input{Kind: Ring, Number: c.alarm}, purpose{})
			return true
		}
	})
}

// keepsPlace says whether a group's campaign keeps others waiting after a step.
func (n *Node) keepsPlace(g *Group) bool {
	switch {
	case g.Role == memberstate.Leader:
		return !g.OfOffice(g.HeardBeat())
	case g.Role != memberstate.Candidate:
		return false
	case g.round.phase != idle:
		return true
	default:
		hasVoted := g.Vote != memberstate.Nobody && g.Vote != g.Rules.Self
		return !hasVoted && !g.round.hasLeader && n.quorumSpeaks(g)
	}
}

// quorumSpeaks says whether the nodes of a quorum have exchanged beats with this one lately, or have asked for votes or
// answered.
func (n *Node) quorumSpeaks(g *Group) bool {
	speak := memberstate.SetOf(g.Rules.Self)
	for seat := range g.Rules.others().Seats() {
		if at := n.peerOf(g, seat).heardLast(); at > 0 && n.now-at < g.Rules.Timing.Detection() {
			speak = speak.With(seat)
		}
	}
	return speak.Len() >= g.Rules.quorum()
}

// end notes that a campaign keeps others waiting no more.
func (m *muster) end(x *transient) {
	if x.place != 0 {
		x.place = 0
		m.open--
	}
}

// due is when campaign has to be called at the latest; false if only others can change something.
func (m *muster) due() (at time.Duration, waits bool) {
	switch {
	case m.waiting.waits() && !m.begun.waits():
		return 0, true
	case m.waiting.waits():
		at, waits = m.begun.all[m.begun.first].until, true
	}
	if m.vain.waits() && (!waits || m.next < at) {
		at, waits = m.next, true
	}
	return at, waits
}

// campaigns is a queue.
type campaigns struct {
	all   []campaign
	first int // before it there are none any more
}

func (q *campaigns) waits() bool { return q.first < len(q.all) }

func (q *campaigns) add(c campaign) { q.all = append(q.all, c) }

// drop drops those at the front, until one is to stay.
func (q *campaigns) drop(gone func(*campaign) bool) {
	for q.waits() && gone(&q.all[q.first]) {
		q.first++
	}
	switch {
	case !q.waits():
		clear(q.all)
		q.all, q.first = emptied(q.all), 0
	case q.first > len(q.all)/2:
		q.all, q.first = slices.Delete(q.all, 0, q.first), 0
	}
}
